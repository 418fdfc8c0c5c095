import fc from "fast-check";
import { expect, it } from "vitest";

import { added, stays, type Notice } from "@/ui/notices";

const said = fc.record({ tone: fc.constantFrom<Notice["tone"]>("ok", "bad"), text: fc.constantFrom("a", "b", "c", "d", "e", "f", "g") });

it("no error is lost, and those that are good do not pile up", () => {
  fc.assert(
    fc.property(fc.array(said), (all) => {
      const seen = all.reduce<Notice[]>((was, s, id) => added(was, { id, at: 0, ...s }), []);
      const errors = all.filter((s) => s.tone === "bad");
      expect(new Set(seen.filter((n) => n.tone === "bad").map((n) => n.text))).toEqual(new Set(errors.map((s) => s.text)));
      expect(seen.filter((n) => n.tone === "bad").reduce((sum, n) => sum + n.times, 0)).toBe(errors.length);
      expect(seen.filter((n) => n.tone === "ok").length).toBeLessThanOrEqual(3);
      expect(seen.at(-1)?.text).toBe(all.at(-1)?.text);
    }),
  );
});

it("an error goes with the page on which it came, if it was there to be read", () => {
  expect(stays({ tone: "bad", at: 1000 }, 1500)).toBe(true);
  expect(stays({ tone: "bad", at: 1000 }, 9000)).toBe(false);
  expect(stays({ tone: "ok", at: 1000 }, 9000)).toBe(true);
});
