import { clsx } from "clsx";

export type Tone = "ok" | "warn" | "bad" | "info" | "muted";

const tones: Record<Tone, string> = {
  ok: "bg-ok-soft text-ok",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
  info: "bg-info-soft text-info",
  muted: "bg-sunken text-muted",
};

/** The words that labels begin with (docs: the states of nodes, runs, tasks and agents), and what they mean to the eye. */
const byWord: readonly (readonly [string, Tone])[] = [
  ["done", "ok"],
  ["merged", "ok"],
  ["up", "ok"],
  ["healthy", "ok"],
  ["failed", "bad"],
  ["lost", "bad"],
  ["crashed", "bad"],
  ["down", "bad"],
  ["conflict", "bad"],
  ["blocked", "bad"],
  ["needs input", "warn"],
  ["taken over", "warn"],
  ["limited", "warn"],
  ["no runner", "warn"],
  ["stopped", "warn"],
  ["paused", "warn"],
  ["running", "info"],
  ["working", "info"],
  ["checking", "info"],
  ["setting up", "info"],
  ["busy", "info"],
];

/** What a label of cmux's means to the eye. */
export function toneOf(label: string): Tone {
  return byWord.find(([word]) => label.startsWith(word))?.[1] ?? "muted";
}

/** A label as cmux says it, such as `failed (checks)`. The color only repeats what the text says. */
export function Label({ children, tone, className }: { children: string; tone?: Tone; className?: string }) {
  return (
    <span className={clsx("inline-flex items-center rounded px-1.5 py-px text-sm font-medium whitespace-nowrap", tones[tone ?? toneOf(children)], className)}>
      {children}
    </span>
  );
}
