import type { Frame } from "@/live/protocol";

/** Which routes answer differently after an event (docs/api.md, Live events), by the beginning of their path. */
export const byEvent: Readonly<Record<string, readonly string[]>> = {
  agent_event: ["/api/agents", "/api/budget", "/api/needs"],
  agent_thought: ["/api/thoughts", "/api/agents/{name}/conversation"],
  session_created: ["/api/agents", "/api/sessions"],
  session_terminated: ["/api/agents", "/api/sessions"],
  agent_archived: ["/api/agents", "/api/archives", "/api/teams"],
  new_message: ["/api/messages", "/api/needs", "/api/autonomy", "/api/agents"],
  user_message: ["/api/messages", "/api/needs", "/api/autonomy", "/api/agents"],
  webhook_received: ["/api/messages", "/api/needs", "/api/autonomy", "/api/agents"],
  message_update: ["/api/messages", "/api/needs", "/api/autonomy", "/api/agents"],
  task_event: ["/api/tasks", "/api/needs", "/api/agents", "/api/report", "/api/autonomy"],
  journal_entry: ["/api/journal"],
  incident: ["/api/incidents", "/api/recover", "/api/needs", "/api/report"],
  run_event: ["/api/runs", "/api/needs", "/api/budget"],
  heartbeat_update: ["/api/heartbeat", "/api/agents"],
  audit_event: ["/api/projects", "/api/sessions", "/api/teams", "/api/maintenance", "/api/onboarding"],
};

/** What an event that no row names may change. */
const unknown: readonly string[] = ["/api/"];

export function touches(f: Frame): readonly string[] {
  if (f.event === "changed") {
    return routes(f.data);
  }
  return byEvent[f.event] ?? unknown;
}

/**
 * Whether a query's path is below one of the beginnings. Queries are known by the path of
 * the document (/api/runs/{id}/merge), and frames may name one that was asked
 * (/api/runs/r1/merge): a word in braces stands for any one.
 */
export function touched(path: string, beginnings: ReadonlySet<string>): boolean {
  const words = path.split("/");
  for (const b of beginnings) {
    const begin = b.replace(/\/$/, "").split("/");
    if (begin.length <= words.length && begin.every((w, i) => w === words[i] || isParameter(w) || isParameter(words[i]))) {
      return true;
    }
  }
  return false;
}

function isParameter(word: string | undefined): boolean {
  return word?.startsWith("{") === true;
}

/** What a frame `changed` names: the beginnings of the routes that answer differently by now. */
function routes(data: unknown): readonly string[] {
  const named = typeof data === "object" && data !== null && "routes" in data ? data.routes : undefined;
  return Array.isArray(named) ? named.filter((r): r is string => typeof r === "string") : unknown;
}
