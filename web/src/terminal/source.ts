import type { AgentSource } from "@/conversation/source";

/** Where the websocket of a source's terminal is. */
export function terminalPath(s: AgentSource): string {
  return s.kind === "node" ? `/api/runs/${encodeURIComponent(s.run)}/nodes/${encodeURIComponent(s.node)}/terminal` : `/api/agents/${encodeURIComponent(s.name)}/terminal`;
}
