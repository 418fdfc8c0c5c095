import { expect, test } from "vitest";

import { Problem } from "@/api/client";
import { whyAway } from "@/app/AwayBar";

test.each([
  [new Problem(0, "The server does not answer."), "gone"],
  [new Problem(401, "no login"), "logged out"],
  [new Problem(403, "another host"), "logged out"],
  [new Problem(500, "it failed"), undefined],
  [new TypeError("fetch failed"), "gone"],
])("%s: %s", (error, why) => {
  expect(whyAway(error)).toBe(why);
});
