import type { Api } from "@/api/client";
import { nodeKind, reasonOf } from "@/node/words";
import type { Differing } from "@/runs/difference";
import { counted } from "@/runs/figures";
import { NodeTime } from "@/runs/NodeTime";
import { tokens } from "@/ui/figures";
import { Label } from "@/ui/label";

/** A node as it is drawn in the graph of a run. */
export function nodeCard(n: Api<"GraphNode">) {
  const used = counted(n.used);
  return (
    <>
      <span className="flex items-center gap-1.5">
        <span className="min-w-0 grow truncate font-semibold">{n.name}</span>
        {n.role !== "build" && <span className="text-sm text-muted">{n.role}</span>}
        {n.critical && <span className="sr-only">on the critical path</span>}
      </span>
      <span className="flex min-w-0 items-center gap-1.5">
        <Label className="min-w-0 truncate">{n.label}</Label>
        <NodeTime node={n} className="shrink-0 text-sm text-muted" />
        <span className="ml-auto shrink-0 text-sm whitespace-nowrap text-muted">
          {n.attempts > 1 && `${n.attempts} attempts`}
          {n.attempts > 1 && used > 0 && ", "}
          {used > 0 && `${tokens(used)} tokens`}
        </span>
      </span>
      <span className="truncate text-sm text-muted">{reasonOf(n, n.status.state)}</span>
    </>
  );
}

/** Whether a node's card is the same: the age, which differs in each answer, does not count. */
export function sameNode(a: Api<"GraphNode">, b: Api<"GraphNode">): boolean {
  const keys = Object.keys(a) as (keyof typeof a)[];
  return keys.length === Object.keys(b).length && keys.every((k) => k === "age" || Object.is(a[k], b[k]));
}

/** A node as it is drawn before it runs. */
export function plannedCard(n: Api<"Planned">) {
  return (
    <>
      <span className="truncate font-semibold">{n.name}</span>
      <span className="truncate text-sm text-muted">
        {nodeKind({ role: n.role, agent: n.kind })}
      </span>
      <span className="truncate text-sm text-muted">{n.if !== undefined && n.if !== "" ? `if ${n.if}` : n.scope.join(" ")}</span>
    </>
  );
}

const tones = { new: "ok", changed: "info", removed: "bad" } as const;

/** A node as it is drawn with what an update would change in it. */
export function differenceCard(n: Differing) {
  return (
    <>
      <span className={`truncate font-semibold ${n.how === "removed" ? "line-through" : ""}`}>{n.name}</span>
      {n.how !== undefined && (
        <span>
          <Label tone={tones[n.how]}>{n.how}</Label>
        </span>
      )}
      <span className="truncate text-sm text-muted">{n.what}</span>
    </>
  );
}
