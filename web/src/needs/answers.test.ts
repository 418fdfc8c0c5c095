import { expect, test } from "vitest";

import { answerOf, byWait, decided, fresh, nextOf, shows, terminalOf } from "@/needs/answers";
import type { Api } from "@/api/client";

const need = (over: Partial<Api<"Need">>): Api<"Need"> => ({ id: "x", kind: "node", called: "Question", title: over.name ?? "x", name: "x", label: "needs input", text: "", ...over });

test("what waits longest is first, and what waits since nobody knows when is last", () => {
  const sorted = byWait([need({ id: "never" }), need({ id: "new", since: "2026-01-02T00:00:00Z" }), need({ id: "old", since: "2026-01-01T23:59:00+02:00" })]);
  expect(sorted.map((n) => n.id)).toEqual(["old", "new", "never"]);
});

test("what holds nothing up is behind what does", () => {
  const since = (hour: number) => ({ since: `2026-01-01T0${hour}:00:00Z` });
  const sorted = byWait([need({ id: "mail", kind: "message", ...since(1) }), need({ id: "work", kind: "review", ...since(2) }), need({ id: "asks", ...since(3) })]);
  expect(sorted.map((n) => n.id)).toEqual(["asks", "mail", "work"]);
});

test("an answer has a line for each part, and none before all are answered", () => {
  const one = [{ text: "Which color?", options: ["blue", "green"] }];
  const two = [...one, { text: "Why?" }];
  expect(answerOf(one, [])).toBeUndefined();
  expect(answerOf(one, [" blue "])).toBe("blue");
  expect(answerOf(one, ["first\nsecond"])).toBe("first\nsecond");
  expect(answerOf(two, ["blue"])).toBeUndefined();
  expect(answerOf(two, ["blue", " "])).toBeUndefined();
  expect(answerOf(two, ["blue", "it is\n calm"])).toBe("blue\nit is calm");
  expect(answerOf([], [])).toBeUndefined();
});

test.each([
  [{ kind: "agent", orders: ["terminal"] }, "/agents/my%20api?tab=terminal"],
  [{ kind: "agent", orders: ["wake", "reset"] }, undefined],
  [{ run: "r1", orders: ["attach"], question: { parts: [{ text: "trust?" }], in_pane: true } }, "/runs/r1/nodes/my%20api?tab=terminal"],
  [{ run: "r1", orders: ["answer", "attach"], question: { parts: [{ text: "which?" }] } }, "/runs/r1/nodes/my%20api?tab=terminal"],
  [{ run: "r1", kind: "failure", orders: ["retry", "attach"] }, undefined],
] as const)("the terminal of %j is %j", (over, to) => {
  expect(terminalOf(need({ ...(over as object), name: "my api" }))).toBe(to);
});

test("only what was not there before is told, and nothing at first", () => {
  const now = [need({ id: "a" }), need({ id: "b" })];
  expect(fresh(undefined, now)).toEqual([]);
  expect(fresh(new Set(["a"]), now).map((n) => n.id)).toEqual(["b"]);
  expect(fresh(new Set(["a", "b", "c"]), now)).toEqual([]);
});

test("when a case goes, the one behind it comes, else the one before it", () => {
  const [a, b, c, d] = ["a", "b", "c", "d"].map((id) => need({ id })) as [Api<"Need">, Api<"Need">, Api<"Need">, Api<"Need">];
  expect(nextOf([a, b, c], [a, c], "b")?.id).toBe("c");
  expect(nextOf([a, b, c], [a, d], "b")?.id).toBe("a");
  expect(nextOf([a, b], [a], "b")?.id).toBe("a");
  expect(nextOf([], [c, d], "gone")?.id).toBe("c");
  expect(nextOf([a], [], "a")).toBeUndefined();
});

test("a filter shows its kinds, and one that nobody knows shows all", () => {
  const gate = need({ orders: ["approve"], called: "Gate" });
  expect(shows("gates", gate)).toBe(true);
  expect(shows("questions", gate)).toBe(false);
  expect(shows(null, gate) && shows("nonsense", gate)).toBe(true);
  expect(shows("questions", need({ kind: "agent", called: "Agent", label: "needs input" }))).toBe(true);
});

test("what was decided names one need, and counts several", () => {
  expect(decided([need({ name: "look" })], "overridden")).toBe("look: overridden");
  expect(decided([need({ kind: "message", name: "m1", title: "Which color?", text: "Which color?" })], "marked as read")).toBe("Which color?: marked as read");
  expect(decided([need({ orders: ["approve"], called: "Gate" }), need({ orders: ["approve"], called: "Gate" })], "approved")).toBe("2 gates: approved");
});
