import { act, render, screen } from "@testing-library/react";
import { Component, createElement, Suspense, type ComponentType, type ReactNode } from "react";
import { renderToString } from "react-dom/server";
import { expect, it, vi } from "vitest";

import { lazily, Missing, patiently, pauses, settled } from "./lazily";

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

class Net extends Component<{ children: ReactNode }, { fault: string }> {
  override state = { fault: "" };
  static getDerivedStateFromError(e: Error) {
    return { fault: e.message };
  }
  override render() {
    return this.state.fault || this.props.children;
  }
}

it("asks for what did not come once more for who draws it later", async () => {
  let tries = 0;
  let away = true;
  let settle: () => void = () => undefined;
  const Part = lazily(
    async () => {
      tries++;
      if (away) {
        throw new Error("away");
      }
      return Promise.resolve({ default: () => "it" });
    },
    (ms) => (ms === settled ? new Promise((done) => (settle = done)) : Promise.resolve()),
  );
  const opened = () => createElement(Net, null, createElement(Suspense, { fallback: "later" }, createElement(Part)));
  const silent = vi.spyOn(console, "error").mockImplementation(() => undefined);

  const first = render(opened());
  await screen.findByText(/could not be loaded/);
  expect(tries).toBe(pauses.length + 1);
  first.unmount();

  away = false;
  await act(async () => {
    settle();
    await Promise.resolve();
  });
  render(opened());
  await screen.findByText("it");
  expect(tries).toBe(pauses.length + 2);
  silent.mockRestore();
});
