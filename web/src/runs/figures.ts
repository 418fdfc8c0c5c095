/*
 * What the pages of runs say of time, use and labels. It knows no React.
 */
import type { Api } from "@/api/client";
import { stageOf } from "@/node/words";

/** How long something took: 0.4s, 12s, 3m 05s, 2h 10m. */
export function duration(seconds: number): string {
  if (seconds < 10) {
    return `${Math.max(0, Math.round(seconds * 10) / 10)}s`;
  }
  const s = Math.round(seconds);
  if (s < 60) {
    return `${s}s`;
  }
  if (s < 3600) {
    return `${Math.floor(s / 60)}m ${String(s % 60).padStart(2, "0")}s`;
  }
  return `${Math.floor(s / 3600)}h ${String(Math.floor((s % 3600) / 60)).padStart(2, "0")}m`;
}

/** The tokens that count for a budget: cache reads do not. */
export function counted(used: Api<"DagUsage"> | null | undefined): number {
  return used ? used.input + used.output + used.cache_create : 0;
}

type State = Api<"DagNodeState">;

const atWork: ReadonlySet<State> = new Set<State>(["running", "checking", "taken over", "needs input", "limited"]);

/** Whether a node has an agent that lives, or waits for a person. */
export function works(n: { status: { state: State } }): boolean {
  return atWork.has(n.status.state);
}

/** Whether only a retry brings a node on: one that was at work when its run was stopped waits for the run. */
export function hasFailed(n: { status: { state: State; reason?: string } }): boolean {
  return stageOf(n.status) === "failed";
}

/** How long a run has taken, in seconds; undefined: it has not begun. */
export function took(run: { started_at: string | null; ended_at: string | null }, now: number): number | undefined {
  if (run.started_at === null) {
    return undefined;
  }
  const end = run.ended_at === null ? now : Date.parse(run.ended_at);
  return Math.max(0, (end - Date.parse(run.started_at)) / 1000);
}

/** How long the attempts of a node that is over took together, in seconds; undefined: there was none. */
export function worked(spans: readonly { began_at: string; ended_at: string | null }[]): number | undefined {
  const ended = spans.flatMap((s) => (s.ended_at === null ? [] : [Math.max(0, Date.parse(s.ended_at) - Date.parse(s.began_at)) / 1000]));
  return ended.length === 0 ? undefined : ended.reduce((a, b) => a + b, 0);
}

/** How a figure of one run stands to that of another: +3, -1.2k, or nothing. */
export function difference(a: number, b: number, say: (n: number) => string): string {
  const d = b - a;
  return d === 0 ? "" : `${d > 0 ? "+" : "-"}${say(Math.abs(d))}`;
}

/** The critical path where it says something: a chain of some length, beside which other nodes run. */
export function tellingChain(nodes: number, critical: readonly string[]): readonly string[] {
  return critical.length >= 3 && critical.length < nodes ? critical : [];
}
