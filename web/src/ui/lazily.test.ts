import { createElement, Suspense, type ComponentType } from "react";
import { renderToString } from "react-dom/server";
import { expect, it } from "vitest";

import { lazily, Missing, patiently, pauses } from "./lazily";

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

const drawn = (part: ComponentType) => renderToString(createElement(Suspense, { fallback: "later" }, createElement(part)));

it("draws at once what has come", async () => {
  const Part = lazily(() => Promise.resolve({ default: () => "it" }));
  expect(drawn(Part)).toContain("later");
  const Early = lazily(() => Promise.resolve({ default: () => "it" }));
  Early.preload();
  await new Promise((r) => setTimeout(r));
  expect(drawn(Early)).not.toContain("later");
});
