/*
 * A run's graph and the configuration that it would be updated by, as one graph. It
 * knows no React.
 */
import type { Api } from "@/api/client";
import type { ShapeNode } from "@/runs/graph/shape";

/** A node of both graphs. */
export interface Differing extends ShapeNode {
  critical: boolean;
  how?: "new" | "changed" | "removed"; // missing: it stays as it is
  what: string; // the keys that differ
}

/** The nodes as the configuration has them, then those that it has no more. */
export function merged(now: readonly ShapeNode[], then: readonly ShapeNode[], changes: readonly Api<"Change">[]): Differing[] {
  const changed = new Map(changes.map((c) => [c.name, c.what]));
  const old = new Set(now.map((n) => n.name));
  const kept = new Set(then.map((n) => n.name));
  const shape = (n: ShapeNode) => ({ name: n.name, depends_on: n.depends_on, finally: n.finally, critical: false });
  return [
    ...then.map((n): Differing => {
      const what = changed.get(n.name);
      if (!old.has(n.name)) {
        return { ...shape(n), how: "new", what: "" };
      }
      return what === undefined ? { ...shape(n), what: "" } : { ...shape(n), how: "changed", what };
    }),
    ...now.filter((n) => !kept.has(n.name)).map((n): Differing => ({ ...shape(n), how: "removed", what: "" })),
  ];
}
