import { expect, it } from "vitest";

import { costOf, took } from "@/api/cost";

it("knows what the last answers said of their cost", () => {
  expect(costOf("/api/a")).toBeUndefined();
  took("/api/a", "app;dur=12.5");
  expect(costOf("/api/a")).toBe(12.5);
  took("/api/a", "cache;dur=99, app;dur=3");
  expect(costOf("/api/a")).toBe(3);
  for (const unsaid of [null, "", "app", "app;dur=", "app;dur=.", "snapp;dur=1"]) {
    took("/api/a", unsaid);
    expect(costOf("/api/a")).toBe(3);
  }
  for (let i = 0; i < 3; i++) {
    took("/api/a", "app;dur=800");
    expect(costOf("/api/a")).toBe(3); // a busy machine
  }
  took("/api/a", "app;dur=900");
  expect(costOf("/api/a")).toBe(800); // no: it is costly
});
