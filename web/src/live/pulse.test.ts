import { expect, test } from "vitest";

import { judge } from "@/live/pulse";

test.each([
  ["events come", { heard: 10_000, asked: 0 }, 12_000, "fine"],
  ["it is silent for a while", { heard: 10_000, asked: 0 }, 16_000, "ask"],
  ["it was asked just now", { heard: 10_000, asked: 16_000 }, 18_000, "fine"],
  ["its answer is missing", { heard: 10_000, asked: 16_000 }, 21_000, "silent"],
  ["its answer came", { heard: 16_100, asked: 16_000 }, 21_000, "fine"],
  ["no answer comes any more", { heard: 10_000, asked: 16_000 }, 37_000, "lost"],
  ["the machine slept: it is asked before it is given up", { heard: 10_000, asked: 0 }, 10_000_000, "ask"],
] as const)("%s", (_, pulse, now, want) => {
  expect(judge(pulse, now)).toBe(want);
});
