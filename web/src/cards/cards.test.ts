import { describe, expect, it } from "vitest";

import { actionsOf, byColumn, checksOf, named, ownText, saysOf, toneOf, toward, type Card, type Move } from "@/cards/cards";

const card = (over: Partial<Card>): Card => ({
  id: "t1", title: "Sessions", body: "", label: "backlog", column: "backlog", work: "t1", merge: false, needs: "", moves: [], card: { room: "design" }, state: "open", verify: [], scope: [], after: [],
  priority: "normal", kind: "change", branch: "", project: "", parent: "", part_of: "", backlog: true, start: null, reason: "", override: false, assigned_to: "", attempts: [], merged: null, result: null, judged: null,
  work_branch: "", created_at: "", created_by: "", changed_at: "", changed_by: "", version: 1, key: "", until: "", ...over,
});

const done: Move = { to: "done", do: "done", asks: "sure" };

describe("an arrow key", () => {
  it.each<[Card["column"], Move[], -1 | 1, ReturnType<typeof toward>]>([
    ["backlog", [{ to: "planning", do: "start" }, done], 1, { move: { to: "planning", do: "start" } }],
    ["backlog", [{ to: "implementing", do: "start" }, done], 1, { move: { to: "implementing", do: "start" } }], // nobody plans it
    ["backlog", [done], 1, { to: "planning" }], // the server says why not
    ["backlog", [done], -1, undefined],
    ["planning", [{ to: "backlog", do: "backlog" }, { to: "implementing", do: "approve" }, done], 1, { move: { to: "implementing", do: "approve" } }],
    ["planning", [{ to: "backlog", do: "backlog" }, done], -1, { move: { to: "backlog", do: "backlog" } }],
    ["reviewing", [{ to: "backlog", do: "backlog" }, { to: "planning", do: "send-back", asks: "why" }], -1, { move: { to: "planning", do: "send-back", asks: "why" } }],
    ["implementing", [done], 1, { move: done }], // from the column beside
    ["implementing", [done], -1, { to: "reviewing" }],
    ["done", [], 1, undefined],
    ["", [], 1, undefined],
  ])("in %j with %j to %d asks for %j", (column, moves, side, want) => expect(toward(card({ column, moves }), side)).toEqual(want));
});

describe("what a person can do", () => {
  const labels = (over: Partial<Card>) => actionsOf(card(over)).map((a) => a.label);
  it("is to start it, or to say who does what", () => {
    expect(labels({ moves: [{ to: "planning", do: "start" }, done] })).toEqual(["Start…"]);
    expect(labels({ moves: [done] })).toEqual(["Choose roles…", "Ask the room"]);
  });
  it("is nothing while members are asked who does what, and then to choose", () => {
    expect(labels({ moves: [done], card: { room: "r", phase: "delegating" } })).toEqual([]);
    expect(labels({ moves: [done], card: { room: "r", phase: "delegating", waits: "who?" }, needs: "who?" })).toEqual(["Choose an answer…", "Choose roles…"]);
  });
  it("is to ask again, to approve and to send back where the card waits", () => {
    const review: Move[] = [{ to: "planning", do: "send-back", asks: "why" }, { to: "implementing", do: "approve" }, done];
    expect(labels({ column: "reviewing", moves: review, card: { room: "r", phase: "plan review", waits: "bob passed" }, needs: "bob passed" })).toEqual(["Ask again", "Approve…", "Send back…"]);
    expect(labels({ column: "reviewing", moves: review, card: { room: "r", phase: "plan review" } })).toEqual([]);
    expect(labels({ column: "implementing", moves: [done], card: { room: "r", phase: "implementing", waits: "no worker" }, needs: "no worker" })).toEqual(["Try again"]);
    expect(labels({ column: "reviewing", moves: [{ to: "implementing", do: "send-back", asks: "why" }, { to: "done", do: "approve" }], card: { room: "r", phase: "implementing" }, needs: "its work waits" })).toEqual(["Approve…", "Send back…"]);
  });
});

it("stands in one column, and cancelled in none", () => {
  const placed = byColumn([card({ id: "t1" }), card({ id: "t2", column: "done" }), card({ id: "t3", column: "" })]);
  expect([...placed].map(([column, cards]) => [column, cards.map((c) => c.id)])).toEqual([["backlog", ["t1"]], ["planning", []], ["reviewing", []], ["implementing", []], ["done", ["t2"]]]);
});

it("says how its checks stand", () => {
  const result = (...exits: number[]) => ({ summary: "", commits: 1, tip: "", diffstat: "", checks: exits.map((exit) => ({ command: "make", exit, took: "1s" })), tokens: 0, snapshot: "" }) as Card["result"];
  expect(checksOf(card({}))).toEqual({ text: "", bad: false });
  expect(checksOf(card({ verify: ["make"] }))).toEqual({ text: "1 check", bad: false });
  expect(checksOf(card({ result: result(0, 0) }))).toEqual({ text: "2 checks passed", bad: false });
  expect(checksOf(card({ result: result(0, 2) }))).toEqual({ text: "1 of 2 checks failed", bad: true });
  expect(checksOf(card({ result: result(2), work: "t9", verify: ["make"] }))).toEqual({ text: "1 check", bad: false }); // that of newer work is elsewhere
});

it("is named for who does not see the board", () => {
  expect(named(card({ label: "ann plans", column: "planning", verify: ["make", "true"], card: { room: "r", planner: "ann", implementer: "bob" } }))).toBe("t1 Sessions, Planning, ann plans, 2 checks, planner ann, implementer bob");
});

it("has the tone of what it needs", () => {
  expect([card({ needs: "x" }), card({ column: "implementing", state: "failed" }), card({ column: "done", state: "done" }), card({ column: "done", state: "done", override: true }), card({ column: "planning" }), card({})].map(toneOf)).toEqual(["warn", "bad", "ok", "muted", "info", "muted"]);
});

it("says what a move does before it is made", () => {
  const c = card({ card: { room: "r", planner: "ann", implementer: "bob" } });
  expect(saysOf(c, { to: "planning", do: "start" }).text).toBe("First ann plans, in a turn of its own. A worker like bob implements it then.");
  expect(saysOf(c, done).text).toContain("done (override)");
  expect(saysOf({ ...c, column: "reviewing" }, { to: "done", do: "approve" }).title).toBe("Approve the work on t1?");
});

it("shows its own text alone", () => {
  expect([ownText("Keep the flag.\n\n## From the room\n\nIt is a card"), ownText("Keep"), ownText("")]).toEqual(["Keep the flag.", "Keep", ""]);
});
