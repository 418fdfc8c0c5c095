import { expect, it } from "vitest";

import { count, grouped } from "./figures";

it("sets thousands apart", () => {
  expect([0, 7, 999, 1000, 12_345, 100_000, 1_234_567].map(grouped)).toEqual(["0", "7", "999", "1,000", "12,345", "100,000", "1,234,567"]);
  expect([1, 2, 1000].map((n) => count(n, "task"))).toEqual(["1 task", "2 tasks", "1,000 tasks"]);
});
