import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { heldNow, hold, sendNow, undo, undoFor } from "@/needs/held";
import { without } from "@/needs/needs";

const need = (id: string) => ({ id, kind: "node" as const, called: "Gate", title: id, name: id, label: "needs input", text: "" });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a decision is sent when it can no longer be undone, and once", async () => {
  const send = vi.fn().mockResolvedValue(undefined);
  const id = hold([need("a")], "a: approved", send);
  await vi.advanceTimersByTimeAsync(undoFor - 1);
  expect(send).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  await sendNow(id);
  expect(send).toHaveBeenCalledTimes(1);
  expect(undo(id)).toBe(false);
  await vi.runAllTimersAsync();
  expect(heldNow()).toEqual([]);
});

test("what is undone is never sent, and the newest goes first", async () => {
  const send = vi.fn().mockResolvedValue(undefined);
  hold([need("a")], "a", send);
  hold([need("b")], "b", send);
  expect(undo()).toBe(true);
  expect(heldNow().map((h) => h.text)).toEqual(["a"]);
  expect(undo()).toBe(true);
  expect(undo()).toBe(false);
  await vi.runAllTimersAsync();
  expect(send).not.toHaveBeenCalled();
});

test("what is refused waits again at once", async () => {
  const id = hold([need("a")], "a", () => Promise.reject(new Error("a has moved")));
  await sendNow(id);
  expect(heldNow()).toEqual([]);
});

test("what was decided is not counted", () => {
  const waiting = { items: [need("a"), need("b")], total: 5 };
  expect(without(waiting, new Set(["a", "gone"]))).toEqual({ items: [need("b")], total: 4 });
});
