import type { Api } from "@/api/client";

export type By = "agent" | "model" | "program";

export interface Chart {
  step: number; // seconds of a bucket
  times: number[]; // seconds since 1970: the beginning of each bucket
  names: string[];
  lines: number[][]; // by name, by time: tokens that count in that bucket
}

/**
 * The sums of a history by agent, model or program, for each bucket of the time that was asked for up to the last one
 * with tokens. Where the oldest is left out, it begins with the first that is there.
 */
export function chart(history: Api<"History">, by: By, most = 12): Chart {
  const step = history.step;
  const begin = (at: string) => Math.floor(Date.parse(at) / 1000 / step) * step;
  const sums = new Map<string, Map<number, number>>();
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const s of history.series) {
    const name = nameOf(s, by);
    const line = sums.get(name) ?? new Map<number, number>();
    sums.set(name, line);
    for (const b of s.buckets) {
      const at = begin(b.at);
      first = Math.min(first, at);
      last = Math.max(last, at);
      line.set(at, (line.get(at) ?? 0) + b.counted);
    }
  }
  if (first > last) {
    return { step, times: [], names: [], lines: [] };
  }
  const times: number[] = [];
  if (!history.cut) {
    first = Math.min(first, begin(history.since));
  }
  if (first === last) {
    first -= step; // a single point has no axis
  }
  for (let t = first; t <= last; t += step) {
    times.push(t);
  }
  const total = (line: Map<number, number>) => [...line.values()].reduce((a, b) => a + b, 0);
  const ranked = [...sums].sort(([a, x], [b, y]) => total(y) - total(x) || a.localeCompare(b));
  const shown = ranked.slice(0, most);
  const rest = ranked.slice(most);
  const names = shown.map(([name]) => name);
  const lines = shown.map(([, line]) => times.map((t) => line.get(t) ?? 0));
  if (rest.length > 0) {
    names.push(`${rest.length} others`);
    lines.push(times.map((t) => rest.reduce((sum, [, line]) => sum + (line.get(t) ?? 0), 0)));
  }
  return { step, times, names, lines };
}

/** The chart as steps: what was used in a bucket holds over all of it, and of the last one until now. */
export function steps({ step, times, lines }: Chart, now: number): [number[], ...number[][]] {
  const last = times.at(-1) ?? 0;
  return [[...times, Math.max(last, Math.min(last + step, now))], ...lines.map((l) => [...l, l.at(-1) ?? 0])];
}

function nameOf(s: Api<"Series">, by: By): string {
  switch (by) {
    case "model":
      return s.model === "" ? "unknown model" : s.model;
    case "program":
      return s.agent === "" ? "unknown program" : s.agent;
    case "agent":
      return s.source.slice(s.source.indexOf(":") + 1); // agent:NAME or run:ID/NODE
  }
}
