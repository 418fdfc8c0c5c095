/*
 * What a need asks and what an answer to it is, as data. It knows no React.
 */
import type { Api } from "@/api/client";

type Need = Api<"Need">;

/** The needs in order: reviews, merges and messages, which hold nothing up, behind the others; the longest wait first; without a time last. */
export function byWait(needs: readonly Need[]): Need[] {
  const at = (n: Need) => (n.since === undefined ? Number.POSITIVE_INFINITY : Date.parse(n.since));
  const rank = (n: Need) => (n.kind === "review" || n.kind === "merge" || n.kind === "message" ? 1 : 0);
  return needs.map((n, i) => ({ n, i })).sort((a, b) => rank(a.n) - rank(b.n) || at(a.n) - at(b.n) || a.i - b.i).map(({ n }) => n);
}

/** Whether the need is a gate: it is approved, not answered. */
export function isGate(n: Need): boolean {
  return n.kind === "node" && n.orders?.[0] === "approve";
}

/** The kinds that a person filters by. */
export const filters = [
  ["questions", "Questions", ["Question", "Permission", "Dialog", "No report", "Agent", "Room"]],
  ["gates", "Gates", ["Gate"]],
  ["failures", "Failures", ["Failure", "Conflict", "Run", "Task", "Incident", "Limit", "Fault"]],
  ["reviews", "Reviews", ["Review", "Merge"]],
  ["messages", "Messages", ["Message"]],
] as const;

/** Whether a filter shows the need; an unknown one shows all. */
export function shows(filter: string | null, n: Need): boolean {
  const kinds: readonly string[] | undefined = filters.find(([id]) => id === filter)?.[2];
  return kinds === undefined || kinds.includes(n.called);
}

/** The need that comes into view when the one at a place is gone: the one that takes its place, or the last. */
export function nextOf(was: readonly Need[], now: readonly Need[], id: string | undefined): Need | undefined {
  const at = was.findIndex((n) => n.id === id);
  const left = new Map(now.map((n) => [n.id, n]));
  for (const n of at < 0 ? [] : [...was.slice(at + 1), ...was.slice(0, at).toReversed()]) {
    const there = left.get(n.id);
    if (there !== undefined) {
      return there;
    }
  }
  return now[0];
}

/**
 * The text that answers a question of several parts: a line for each (cmux gives each
 * part its line). Undefined: a part has no answer yet.
 */
export function answerOf(parts: readonly Api<"QuestionPart">[], said: readonly (string | undefined)[]): string | undefined {
  const lines: string[] = [];
  for (let i = 0; i < parts.length; i++) {
    const line = (said[i] ?? "").trim();
    if (line === "") {
      return undefined;
    }
    // Several lines would be taken for the answers of several parts.
    lines.push(parts.length > 1 ? line.replace(/\s*\n\s*/g, " ") : line);
  }
  return lines.length === 0 ? undefined : lines.join("\n");
}

/** Where the terminal of a need is; undefined: it has none. */
export function terminalOf(n: Need): string | undefined {
  const name = encodeURIComponent(n.name);
  if (n.kind === "agent" || n.kind === "room") {
    return n.orders?.includes("terminal") === true ? `/agents/${n.kind === "room" ? encodeURIComponent(n.agent ?? "") : name}?tab=terminal` : undefined;
  }
  return n.run !== undefined && n.kind === "node" && n.orders?.includes("attach") === true ? `/runs/${encodeURIComponent(n.run)}/nodes/${name}?tab=terminal` : undefined;
}

/** Needs that were not there before; undefined as `before`: none is new. */
export function fresh(before: ReadonlySet<string> | undefined, now: readonly Need[]): Need[] {
  return before === undefined ? [] : now.filter((n) => !before.has(n.id));
}

/** What was decided about needs, as the page says it. */
export function decided(needs: readonly Need[], done: string): string {
  const [only, ...more] = needs;
  return only === undefined ? done : `${more.length === 0 ? only.title : `${needs.length} ${only.called.toLowerCase()}s`}: ${done}`;
}
