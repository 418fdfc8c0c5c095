import { oneLine, worker, you, type Told } from "@/activity/story";
import type { Tone } from "@/ui/label";

/** What a person decided about a node, as its run has it. */
export interface Decision {
  name: string; // of the node
  gate: boolean;
  state: string;
  reason: string; // of its state
  at: string | null; // it is in its state since then
  review?: { verdict: string; comment?: string; at: string } | undefined;
}

const verdicts: Readonly<Record<string, readonly [does: string, tone: Tone]>> = { approved: ["approved the work of", "ok"], dropped: ["dropped the work of", "warn"], "sent back": ["sent back the work of", "warn"] };

/** The decisions of a person about a run's nodes as lines. The audit log has those of organizations alone. */
export function tellDecisions(run: { id: string; session: string }, decisions: readonly Decision[]): Told[] {
  return decisions.flatMap((d) => {
    const { to = "" } = worker("run", `${run.id}/${d.name}`);
    const line = (does: string, tone: Tone, at: string | null, more = ""): Told[] =>
      at === null ? [] : [{ key: `decided ${run.id} ${d.name} ${does} ${at}`, seq: 0, at, about: "people", tone, who: you, does, what: { text: `${d.name} in ${run.session}`, to }, more: oneLine(more), times: 1 }];
    const [does = "", tone = "muted"] = verdicts[d.review?.verdict ?? ""] ?? [];
    return [
      ...(d.review === undefined || does === "" ? [] : line(does, tone, d.review.at, d.review.comment)),
      ...(d.state === "done" && d.gate ? line("approved the gate", "ok", d.at) : d.state === "done" && d.reason === "override" ? line("called done", "warn", d.at) : d.reason === "cancelled" ? line(d.gate ? "refused the gate" : "cancelled", "warn", d.at) : []),
    ];
  });
}

/** Lines of the audit log without those that a decision tells with more. */
export function undecided(lines: readonly Told[], decisions: readonly Told[]): Told[] {
  const orders = ["approved the gate", "called done", "cancelled", "reviewed"];
  return lines.filter((t) => !(t.who.text === you.text && orders.includes(t.does) && decisions.some((d) => d.what?.text.startsWith(`${t.what?.text ?? ""} in `) === true && Math.abs(Date.parse(d.at) - Date.parse(t.at)) < near)));
}

/** How long a decision takes until its run has it, in milliseconds, at most. */
const near = 10_000;
