import { expect, test } from "vitest";

import { asFirst, leftOf, order } from "./order";

test("what waits is first, and a decision moves nothing", () => {
  const items = [
    { node: "none", state: "nothing to review" },
    { node: "old", state: "approved" },
    { node: "api", state: "to review" },
    { node: "web", state: "changed since it was approved" },
  ] as const;
  const first = order(items).map((w) => w.node);
  expect(first).toEqual(["api", "web", "old", "none"]);
  const later = [{ node: "new", state: "to review" } as const, ...items.map((w) => (w.node === "api" ? { node: w.node, state: "approved" as const } : w))];
  expect(asFirst(later, first).map((w) => w.node)).toEqual(["api", "web", "old", "none", "new"]);
});

test.each([
  [[], undefined],
  [["nothing to review", "dropped"], undefined],
  [["merged", "to review"], "review"],
  [["changed since it was approved"], "review"],
  [["merged", "approved"], "merge"],
  [["merged", "nothing to review"], "merged"],
] as const)("of works that are %j, the %s is left", (states, left) => expect(leftOf(states.map((state) => ({ state })))).toBe(left));
