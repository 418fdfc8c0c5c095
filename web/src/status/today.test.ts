import { expect, it } from "vitest";

import { today } from "@/status/today";

it("counts what was used since midnight", () => {
  const used = { input: 0, output: 0, cache_create: 0, cache_read: 0 };
  const now = new Date(2030, 0, 2, 9, 30);
  const bucket = (h: number, counted: number) => ({ at: new Date(2030, 0, 2, h).toISOString(), counted, used });
  const history = { cut: false, since: "", step: 3600, series: [{ agent: "a", model: "", source: "", buckets: [bucket(-1, 100), bucket(0, 1), bucket(9, 2)] }] };
  expect(today(history, now)).toBe(3);
});
