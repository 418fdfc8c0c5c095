import type { Api } from "@/api/client";
import { counted } from "@/runs/figures";

export type SortBy = "order" | "name" | "label" | "attempts" | "tokens";

type Node = Pick<Api<"GraphNode">, "name" | "label" | "attempts" | "used">;

/** The nodes whose name or label has all the words, in an order. */
export function sortNodes<T extends Node>(nodes: readonly T[], words: string, by: SortBy): T[] {
  const asked = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found = nodes.filter((n) => {
    const text = `${n.name} ${n.label}`.toLowerCase();
    return asked.every((w) => text.includes(w));
  });
  switch (by) {
    case "order":
      return found;
    case "name":
      return found.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
    case "label":
      return found.sort((a, b) => a.label.localeCompare(b.label, "en"));
    case "attempts":
      return found.sort((a, b) => b.attempts - a.attempts);
    case "tokens":
      return found.sort((a, b) => counted(b.used) - counted(a.used));
  }
}
