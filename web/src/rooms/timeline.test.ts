import { describe, expect, it } from "vitest";

import { timeline, type Entry } from "@/rooms/timeline";
import type { Line, Message } from "@/rooms/rooms";

const at = "2030-01-01T00:00:00Z";
const said = (n: number, by: string, fields: Partial<Message> = {}): Message => ({ n, at, by, text: `text ${n}`, aside: "", to: "", re: 0, key: "", turn: "", round: 0, wakes: [], files: [], pieces: [], aside_pieces: [], ...fields });
const line = (n: number, kind: Line["kind"], fields: Partial<Line> = {}): Line => ({ n, at, kind, ...fields });

const brief = (e: Entry): string => {
  switch (e.type) {
    case "message":
      return `#${e.message.n} ${e.message.by}`;
    case "blind":
      return `blind ${e.messages.map((m) => m.by).join(" ")}`;
    case "passed":
      return `passed ${e.names.join(" ")}`;
    case "ended":
      return `${e.member} ${e.how} ${e.why}`.trim();
    case "round":
      return `round ${e.round} ${e.state} used ${e.used}${e.turns === undefined ? "" : ` turns ${e.turns} of ${e.estimate ?? 0}`}`;
    case "note":
      return e.text;
  }
};

const round = [
  line(1, "opened"),
  line(2, "joined", { name: "ann", agent: "claude" }),
  line(3, "joined", { name: "bob", agent: "codex", role: "reviewer" }),
  line(4, "said"),
  line(5, "round", { round: 1, state: "began" }),
  line(6, "blind", { state: "began", turns: ["t1", "t2"] }),
  line(7, "turn", { turn: "t1", member: "ann", round: 1, estimate: 10 }),
  line(8, "turn", { turn: "t2", member: "bob", round: 1, estimate: 20 }),
  line(9, "said"),
  line(10, "over", { turn: "t1", member: "ann", how: "replied", used: 5 }),
  line(11, "said"),
  line(12, "over", { turn: "t2", member: "bob", how: "replied", used: 6 }),
  line(13, "blind", { state: "over" }),
  line(14, "turn", { turn: "t3", member: "ann", round: 1 }),
  line(15, "turn", { turn: "t4", member: "bob", round: 1 }),
  line(16, "over", { turn: "t3", member: "ann", how: "passed" }),
  line(17, "over", { turn: "t4", member: "bob", how: "passed" }),
  line(18, "round", { round: 1, state: "settled", used: 11 }),
];
const messages = [said(11, "bob", { turn: "t2" }), said(9, "ann", { turn: "t1" }), said(4, "user")];

const marksOf = (all: readonly Entry[]) => all.flatMap((e) => (e.type === "message" || e.type === "blind" ? [`${e.type === "blind" ? "blind" : `#${e.message.n}`} ${e.read.join(" ")}`.trim()] : []));

it("marks how far each member has read", () => {
  const turn = (n: number, member: string, messages: number[]) => line(n, "turn", { turn: `t${n}`, member, messages });
  const messages = [said(1, "user"), said(3, "ann"), said(5, "user")];
  const lines = [line(1, "said"), turn(2, "ann", [1]), line(3, "said"), turn(4, "bob", [1, 3]), line(5, "said")];
  expect(marksOf(timeline(messages, lines, ["ann", "bob"]))).toEqual(["#1 ann", "#3 bob", "#5"]);
  expect(marksOf(timeline(messages, [...lines, turn(6, "ann", [5]), turn(7, "bob", [5])], ["ann", "bob", "carl"]))).toEqual(["#1", "#3", "#5 ann bob"]);
  expect(marksOf(timeline(messages, lines, ["ann"]))).toEqual(["#1 ann", "#3", "#5"]); // bob has left
});

it("marks first answers beside each other as one", () => {
  const messages = [said(1, "user"), said(4, "ann", { turn: "t1" }), said(5, "bob", { turn: "t2" })];
  const lines = [line(1, "said"), line(2, "blind", { state: "began", turns: ["t1", "t2"] }), line(6, "turn", { turn: "t3", member: "ann", messages: [5] }), line(7, "turn", { turn: "t4", member: "bob", messages: [4] })];
  expect(marksOf(timeline(messages, lines, ["ann", "bob"]))).toEqual(["#1", "blind bob ann"]);
});

describe("timeline", () => {
  it("has first answers beside each other, who passed together, and the round as a divider", () => {
    expect(timeline(messages, round).map(brief)).toEqual(["ann (claude), bob (codex, reviewer) joined", "#4 user", "blind ann bob", "passed ann bob", "round 1 settled used 11 turns 4 of 30"]);
  });

  it("keeps the key of an entry that another answer joins", () => {
    const alone = timeline(messages.slice(1), round.slice(0, 10));
    expect(alone.map(brief)).toEqual(["ann (claude), bob (codex, reviewer) joined", "#4 user", "#9 ann"]);
    expect(timeline(messages, round).map((e) => e.key)).toContain(alone[2]?.key);
  });

  it("says nothing of a round whose beginning is not there", () => {
    expect(timeline(messages.slice(0, 1), round.slice(10)).map(brief)).toEqual(["#11 bob", "passed ann bob", "round 1 settled used 11"]);
  });

  it("shows what only the person got by itself, and why a turn failed", () => {
    const lines = [round[5] ?? line(6, "blind"), line(9, "said"), line(10, "over", { turn: "t1", member: "ann", how: "stopped" }), line(12, "over", { turn: "t2", member: "bob", how: "failed", why: "crashed 3 times" })];
    expect(timeline([said(9, "ann", { turn: "t1", text: "", aside: "half" })], lines).map(brief)).toEqual(["#9 ann", "ann stopped", "bob failed crashed 3 times"]);
  });

  it("shows a notice of cmux as a line, and what it asks a member as a message", () => {
    const notice = said(3, "cmux", { text: "t1 Sessions: done, approved by bob" });
    expect(timeline([notice, said(5, "cmux", { to: "ann", wakes: ["ann"] })], []).map(brief)).toEqual([notice.text, "#5 cmux"]);
  });

  it("shows a message that came before its line", () => {
    expect(timeline([said(20, "user"), ...messages], round).map(brief).at(-1)).toBe("#20 user");
  });

  it.each<[Partial<Line>, string]>([
    [{ do: "pause" }, "You paused the room"],
    [{ do: "stop" }, "You stopped all turns and paused the room"],
    [{ do: "stop", names: ["ann"] }, "You stopped ann"],
    [{ do: "continue", count: 2 }, "You continued the round, at most 2 turns a member"],
    [{ do: "skip", names: ["ann"], by: "api" }, "api skipped ann"],
  ])("says %j", (fields, text) => expect(timeline([], [line(1, "order", fields)]).map(brief)).toEqual([text]));
});
