import { expect, it } from "vitest";

import { chart, steps } from "@/budget/series";

const used = { input: 0, output: 0, cache_create: 0, cache_read: 0 };
const at = (h: number) => new Date(h * 3600_000).toISOString();
const series = (name: string, model: string, ...buckets: [h: number, counted: number][]) => ({ agent: "claude", model, source: `agent:${name}`, buckets: buckets.map(([h, counted]) => ({ at: at(h), counted, used })) });
const history = (...all: ReturnType<typeof series>[]) => ({ cut: true, since: at(0), step: 3600, series: all });

it("sums by agent and by model, with a zero where nothing was used", () => {
  const h = history(series("a", "big", [1, 10], [3, 5]), series("b", "big", [1, 1]), series("a", "small", [2, 2]));
  expect(chart(h, "agent")).toEqual({ step: 3600, times: [3600, 7200, 10_800], names: ["a", "b"], lines: [[10, 2, 5], [1, 0, 0]] });
  expect(chart(h, "program")).toMatchObject({ names: ["claude"], lines: [[11, 2, 5]] });
  expect(chart(h, "model").names).toEqual(["big", "small"]);
  expect(chart(h, "model").lines[0]).toEqual([11, 0, 5]);
});

it("puts those that used least together", () => {
  const c = chart(history(series("a", "", [1, 9]), series("b", "", [1, 3]), series("c", "", [1, 2])), "agent", 1);
  expect(c.names).toEqual(["a", "2 others"]);
  expect(c.lines).toEqual([[0, 9], [0, 5]]);
  expect(chart(history(), "agent").times).toEqual([]);
});

it("begins with the time that was asked for, and never has one point alone", () => {
  const one = history(series("a", "", [3, 9]));
  expect(chart({ ...one, cut: false }, "agent")).toEqual({ step: 3600, times: [0, 3600, 7200, 10_800], names: ["a"], lines: [[0, 0, 0, 9]] });
  expect(chart(one, "agent").times).toEqual([7200, 10_800]);
});

it("holds what was used in an hour over that hour, and in the last one until now", () => {
  const c = chart(history(series("a", "", [1, 9], [2, 3])), "agent");
  expect(steps(c, 7500)).toEqual([[3600, 7200, 7500], [9, 3, 3]]);
  expect(steps(c, 99_000)).toEqual([[3600, 7200, 10_800], [9, 3, 3]]);
});
