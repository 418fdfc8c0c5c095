import type { Frame } from "@/live/protocol";

/** Which routes answer differently after an event (docs/api.md, Live events), by the beginning of their path. */
const byEvent: Readonly<Record<string, readonly string[]>> = {
  agent_event: ["/api/agents", "/api/budget", "/api/limits", "/api/needs"],
  agent_thought: ["/api/thoughts", "/api/agents/{name}/conversation"],
  session_created: ["/api/agents", "/api/sessions"],
  session_terminated: ["/api/agents", "/api/sessions"],
  agent_archived: ["/api/agents", "/api/archives"],
  new_message: ["/api/messages", "/api/needs", "/api/agents"],
  user_message: ["/api/messages", "/api/agents"],
  webhook_received: ["/api/messages", "/api/agents"],
  message_update: ["/api/messages", "/api/needs", "/api/agents"],
  task_event: ["/api/tasks", "/api/needs", "/api/agents"],
  journal_entry: ["/api/journal"],
  incident: ["/api/incidents", "/api/needs"],
  run_event: ["/api/runs", "/api/needs", "/api/budget"],
  merge_event: ["/api/runs", "/api/tasks", "/api/needs"],
  heartbeat_update: ["/api/heartbeat", "/api/agents", "/api/recover"],
  audit_event: ["/api/config", "/api/projects", "/api/schedule", "/api/locks", "/api/alerts", "/api/teams", "/api/recover", "/api/doctor", "/api/onboarding", "/api/maintenance"],
};

/** What an event that no row names may change. */
const unknown: readonly string[] = ["/api/"];

export function touches(f: Frame): readonly string[] {
  if (f.event === "changed") {
    return routes(f.data);
  }
  return byEvent[f.event] ?? unknown;
}

/** Whether a path begins with one of the beginnings. */
export function touched(path: string, beginnings: ReadonlySet<string>): boolean {
  for (const b of beginnings) {
    if (path.startsWith(b)) {
      return true;
    }
  }
  return false;
}

/** What a frame `changed` names: the beginnings of the routes that answer differently by now. */
function routes(data: unknown): readonly string[] {
  const named = typeof data === "object" && data !== null && "routes" in data ? data.routes : undefined;
  return Array.isArray(named) ? named.filter((r): r is string => typeof r === "string") : unknown;
}
