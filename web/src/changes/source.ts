import { api, hooks, type Api } from "@/api/client";

/** Whose changes are looked at: those of a node of a run, or those for a task. */
// committed: nothing else; decided: only what changed since the last decision about the work.
export type WorkSource = { kind: "node"; run: string; node: string; committed?: true; decided?: true } | { kind: "task"; id: string };

/** What tells one source from others, such as in what a person has begun to write. */
export function workKey(s: WorkSource): string {
  return s.kind === "node" ? `node:${s.run}/${s.node}` : `task:${s.id}`;
}

/** The files that were changed. */
export function useChanges(s: WorkSource) {
  const node = hooks.useQuery("get", "/api/runs/{id}/nodes/{node}/files", { params: { path: nodePath(s), query: part(s) } }, { enabled: s.kind === "node" });
  const task = hooks.useQuery("get", "/api/tasks/{id}/files", { params: { path: taskPath(s) } }, { enabled: s.kind === "task" });
  return s.kind === "node" ? node : task;
}

/** A changed file before and after. */
export function usePair(s: WorkSource, path: string, was: string | undefined) {
  const query = { path, ...(was === undefined ? {} : { was }) };
  const node = hooks.useQuery("get", "/api/runs/{id}/nodes/{node}/files/content", { params: { path: nodePath(s), query: { ...query, ...part(s) } } }, { enabled: s.kind === "node" });
  const task = hooks.useQuery("get", "/api/tasks/{id}/files/content", { params: { path: taskPath(s), query } }, { enabled: s.kind === "task" });
  return s.kind === "node" ? node : task;
}

/** Sends all comments to the agent, as one message. */
export async function sendComments(s: WorkSource, body: Api<"Comments">): Promise<Api<"Commented">> {
  const { data } =
    s.kind === "node"
      ? await api.POST("/api/runs/{id}/nodes/{node}/comments", { params: { path: nodePath(s) }, body })
      : await api.POST("/api/tasks/{id}/comments", { params: { path: taskPath(s) }, body });
  if (!data) {
    throw new Error("The server answered nothing.");
  }
  return data;
}

/** Which part of a node's changes is meant. */
function part(s: WorkSource): { committed?: true; since_decision?: true } {
  return s.kind === "node" ? { ...(s.committed === true ? { committed: true } : {}), ...(s.decided === true ? { since_decision: true } : {}) } : {};
}

function nodePath(s: WorkSource) {
  return s.kind === "node" ? { id: s.run, node: s.node } : { id: "", node: "" };
}

function taskPath(s: WorkSource) {
  return { id: s.kind === "task" ? s.id : "" };
}
