import { expect, test } from "vitest";

import { follows } from "@/ui/follow";

test.each([
  ["rows turned out higher: the list is where it put itself", true, { was: 900, top: 900, below: 400 }, true],
  ["and nobody comes back by that", false, { was: 900, top: 900, below: 0 }, false],
  ["a reader goes up", true, { was: 900, top: 880, below: 20 }, false],
  ["a reader goes up far", true, { was: 900, top: 100, below: 800 }, false],
  ["a reader goes down, not to the end", false, { was: 100, top: 500, below: 400 }, false],
  ["a reader comes back to the end", false, { was: 500, top: 880, below: 20 }, true],
  ["less is there: the browser moves the list to its new end", true, { was: 900, top: 400, below: 0 }, true],
])("%s", (_, did, scrolled, want) => {
  expect(follows(did, scrolled)).toBe(want);
});
