import type { Api } from "@/api/client";
import { clock } from "@/ui/time";

/** A label as cmux says it (dag.Label): failed (checks), done (override). */
export function labelText(l: Api<"Label">): string {
  const reason: string = l.reason;
  switch (l.state) {
    case "done":
      return reason === "" ? "done" : `done (${reason})${reason === "override" && l.open ? ", still open" : ""}`;
    case "failed": {
      const exit = l.code === null || l.code === 0 ? "" : String(l.code);
      return reason === "" ? `failed (exit ${exit})` : `failed (${reason}${exit === "" ? "" : `, ${exit}`})`;
    }
    case "blocked":
      return l.by === "" ? "blocked" : `blocked (${l.by} ${reason})`;
    case "limited":
      return l.until === null ? "limited" : `limited until ${clock(new Date(l.until))}`;
    case "lost": // of a run that a person stopped: stopped
      return reason === "" ? "lost" : reason;
    default:
      return l.state;
  }
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

const units: Readonly<Record<string, number>> = { h: 3.6e12, m: 6e10, s: 1e9, ms: 1e6, us: 1e3, µs: 1e3, ns: 1 };

/** The same, from a duration as the server writes it: 8.25ms, 1m2.5s. */
export function tookText(duration: string): string {
  let sum = 0;
  for (const [, n = "0", unit = ""] of duration.matchAll(/([\d.]+)(h|ms|µs|us|ns|m|s)/g)) {
    sum += Number(n) * (units[unit] ?? 0);
  }
  return took(sum);
}

/** What a person wants to know of a node first. */
export type Stage = "asks" | "failed" | "works" | "done" | "waits";

export function stageOf({ state, reason = "" }: { state: Api<"DagNodeState">; reason?: string }): Stage {
  switch (state) {
    case "needs input":
      return "asks";
    case "lost":
      return reason === stopped ? "waits" : "failed";
    case "failed":
      return "failed";
    case "done":
    case "skipped":
      return "done";
    default:
      return live(state) ? "works" : "waits";
  }
}

/** The reason of a node that was at work when its run was stopped: it waits for the run. */
export const stopped = "stopped";

/** Whether the overview of a node with an agent shows its conversation. */
export function talksNow(stage: Stage): boolean {
  return stage === "works" || stage === "asks";
}

/** Why a node stands as it does, in words: cmux says the command of a gate, which is no reason for a reader of the page. */
export function reasonOf(n: { role: string; reason?: string | undefined }, state: Api<"DagNodeState">): string {
  if (n.role === "gate" && state === "needs input") {
    return "waits for your approval";
  }
  return (n.reason ?? "").replaceAll(": cmux agents resume", ""); // which is a button of the page
}

/** Whether a button is what a person most often wants: not of what is done, and not where a question is answered. */
export function ordersFirst(role: string, stage: Stage): boolean {
  return stage !== "done" && (stage !== "asks" || role === "gate");
}

/** How a line begins that cmux wrote into a log, and the one with which the checks begin. */
const own = "── ";
const check = "── cmux: check: ";
/** How many lines of a log are its end. */
const most = 16;

/** The end of what a node's program wrote; `unchecked`: before its checks. Empty: it wrote nothing. */
export function lastOutput(log: readonly string[], unchecked: boolean): string {
  const first = unchecked ? log.findIndex((l) => l.startsWith(check)) : -1;
  const lines = (first < 0 ? log : log.slice(0, first)).filter((l) => !l.startsWith(own));
  return lines.join("\n").trimEnd().split("\n").slice(-most).join("\n");
}

/** What a node is, in a word or two: a gate has no program, and what a build is its program says. */
export function nodeKind({ role, agent }: { role: string; agent?: string | undefined }): string {
  if (role === "gate" || agent === undefined || agent === "") {
    return role;
  }
  return role === "build" ? agent : `${role}, ${agent}`;
}

/** Which other machine has a node, and since when that is silent; empty: it is at home, or has not started. */
export function whereOf({ where, machine, heard_at }: { where?: string | undefined; machine?: string | undefined; heard_at?: string | undefined }, attempts: number): string {
  if (machine === undefined) {
    return where === undefined && attempts > 0 ? "no machine yet" : "";
  }
  return heard_at === undefined ? machine : `${machine}, no contact since ${clock(new Date(heard_at))}`;
}

/** The attempts of a node in time. */
export function spansOf(attempts: readonly Api<"Try">[]): { began_at: string; ended_at: string | null }[] {
  return attempts.map((a) => ({ began_at: a.started, ended_at: a.ended ?? null }));
}
