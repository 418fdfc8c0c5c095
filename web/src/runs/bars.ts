/*
 * Attempts and schedules as bars in time. It knows no React and no clock.
 */
import type { Api } from "@/api/client";
import { labelText } from "@/node/words";
import { duration } from "@/runs/figures";
import { toneOf, type Tone } from "@/ui/label";

export interface Bar {
  start: number; // seconds from the beginning
  end: number;
  tone: Tone;
  text: string;
}

export interface BarRow {
  name: string;
  critical: boolean;
  bars: readonly Bar[];
}

export interface Bars {
  rows: readonly BarRow[];
  seconds: number; // that all of them span
}

type Node = Pick<Api<"GraphNode">, "name" | "spans" | "critical" | "label">;

/** The attempts of a run in time: the first begins at 0, and what is at work lasts until now. */
export function attemptBars(nodes: readonly Node[], now: number): Bars {
  let first = Number.POSITIVE_INFINITY;
  for (const n of nodes) {
    for (const s of n.spans) {
      first = Math.min(first, Date.parse(s.began_at));
    }
  }
  let seconds = 0;
  const rows = nodes.map((n) => ({
    name: n.name,
    critical: n.critical,
    bars: n.spans.map((s): Bar => {
      const start = (Date.parse(s.began_at) - first) / 1000;
      const live = s.ended_at === null;
      const end = Math.max(start, ((live ? now : Date.parse(s.ended_at ?? "")) - first) / 1000);
      seconds = Math.max(seconds, end);
      const how = s.label ? labelText(s.label) : s.lost !== "" ? s.lost : n.label;
      return { start, end, tone: live ? (toneOf(n.label) === "warn" ? "warn" : "info") : toneOf(how), text: `Attempt ${s.attempt}: ${how}, ${duration(end - start)}` };
    }),
  }));
  return { rows, seconds };
}

/** When nodes would be at work if every one succeeded. */
export function scheduleBars(u: Pick<Api<"Unfolded">, "slots" | "critical" | "seconds" | "estimated">): Bars {
  const critical = new Set(u.critical);
  const known = new Set(u.estimated);
  const rows = u.slots.map(
    (s): BarRow => ({
      name: s.node,
      critical: critical.has(s.node),
      bars: s.blocked
        ? []
        : [
            {
              start: s.start,
              end: s.end,
              tone: s.gate ? "warn" : known.has(s.node) ? "info" : "muted",
              text: s.gate ? `A person opens it after ${duration(s.start)}` : `${duration(s.start)} to ${duration(s.end)}${known.has(s.node) ? ", as in earlier runs" : ", a guess"}`,
            },
          ],
    }),
  );
  return { rows, seconds: u.seconds };
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400];

/** Round points of time for an axis, at most `most` of them beside 0. */
export function ticks(seconds: number, most = 6): number[] {
  const step = steps.find((s) => seconds / s <= most) ?? Math.ceil(seconds / most / 86_400) * 86_400;
  const all: number[] = [];
  for (let t = 0; t <= seconds; t += step) {
    all.push(t);
  }
  return all;
}
