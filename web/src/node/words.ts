import type { Api } from "@/api/client";

/** A label as cmux says it: failed (checks), running. */
export function labelText(l: Api<"Label">): string {
  const why = l.reason !== "" ? l.reason : l.code !== null && l.code !== 0 ? `exit ${l.code}` : "";
  return why === "" ? l.state : `${l.state} (${why})`;
}

const atWork: readonly Api<"DagNodeState">[] = ["running", "checking", "taken over", "needs input", "limited"];

/** Whether an agent is there for it. */
export function live(state: Api<"DagNodeState">): boolean {
  return atWork.includes(state);
}

/** All tokens of an attempt or a node. */
export function total(u: Api<"DagUsage">): number {
  return u.input + u.output + u.cache_read + u.cache_create;
}

/** How long something took, from nanoseconds: 950 ms, 4.2 s, 3 m 10 s. */
export function took(nanoseconds: number): string {
  const ms = nanoseconds / 1e6;
  if (ms < 1000) {
    return `${Math.round(ms)} ms`;
  }
  const s = ms / 1000;
  return s < 60 ? `${s.toFixed(1)} s` : `${Math.floor(s / 60)} m ${Math.round(s % 60)} s`;
}
