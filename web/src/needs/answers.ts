/*
 * What a need asks and what an answer to it is, as data. It knows no React.
 */
import type { Api } from "@/api/client";

type Need = Api<"Need">;

/** The needs in order: reviews and messages, which hold nothing up, behind the others; the longest wait first; without a time last. */
export function byWait(needs: readonly Need[]): Need[] {
  const at = (n: Need) => (n.since === undefined ? Number.POSITIVE_INFINITY : Date.parse(n.since));
  const rank = (n: Need) => (n.kind === "review" || n.kind === "message" ? 1 : 0);
  return needs.map((n, i) => ({ n, i })).sort((a, b) => rank(a.n) - rank(b.n) || at(a.n) - at(b.n) || a.i - b.i).map(({ n }) => n);
}

/**
 * Each need with a name of its place: another one when what stands before it, or the
 * buttons that it has itself, are others. What comes behind it moves nothing.
 */
export function placed(needs: readonly Need[]): { need: Need; place: string }[] {
  let before = "";
  return needs.map((need) => {
    before += `${need.id}\u0001${need.label}\u0001${need.orders?.join(" ") ?? ""}\u0002`;
    return { need, place: before };
  });
}

/** What a person calls each kind of need. */
export const kindNames: Readonly<Record<Need["kind"], string>> = {
  node: "Question",
  failure: "Failure",
  conflict: "Conflict",
  limit: "Limit",
  review: "Review",
  run: "Run",
  agent: "Agent",
  task: "Task",
  message: "Message",
};

/** Whether the need is a gate: it is approved, not answered. */
export function isGate(n: Need): boolean {
  return n.kind === "node" && n.orders?.[0] === "approve";
}

/** The kind as it is named beside the need. */
export function kindName(n: Need): string {
  if (isGate(n)) {
    return "Gate";
  }
  if (n.kind === "node" && n.question === undefined) {
    return "Agent";
  }
  return kindNames[n.kind];
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
  if (n.kind === "agent") {
    return n.orders?.includes("terminal") === true ? `/agents/${name}?tab=terminal` : undefined;
  }
  const asksThere = n.question?.in_pane === true && n.orders?.includes("attach") === true;
  return n.run !== undefined && asksThere ? `/runs/${encodeURIComponent(n.run)}/nodes/${name}?tab=terminal` : undefined;
}

/** Needs that were not there before; undefined as `before`: none is new. */
export function fresh(before: ReadonlySet<string> | undefined, now: readonly Need[]): Need[] {
  return before === undefined ? [] : now.filter((n) => !before.has(n.id));
}
