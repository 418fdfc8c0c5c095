import { expect, it } from "vitest";

import { Missing, patiently, pauses } from "./lazily";

it("asks again for what did not come", async () => {
  const waited: number[] = [];
  let left = 3;
  const got = await patiently(
    () => (left-- > 0 ? Promise.reject(new Error("away")) : Promise.resolve("it")),
    (ms) => (waited.push(ms), Promise.resolve()),
  );
  expect(got).toBe("it");
  expect(waited).toEqual(pauses.slice(0, 3));
});

it("says at last that the page is to be reloaded", async () => {
  let tries = 0;
  const never = patiently(
    () => (tries++, Promise.reject(new Error("away"))),
    () => Promise.resolve(),
  );
  await expect(never).rejects.toBeInstanceOf(Missing);
  expect(tries).toBe(pauses.length + 1);
});
