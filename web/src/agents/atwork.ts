import type { Api } from "@/api/client";
import { works } from "@/runs/figures";

type Node = Pick<Api<"GraphNode">, "agent" | "role" | "status">;

/** The nodes at which an agent is: commands and gates have none. */
export function atWork<N extends Node>(nodes: readonly N[]): N[] {
  return nodes.filter((n) => works(n) && n.role !== "gate" && n.agent !== "" && n.agent !== "command");
}
