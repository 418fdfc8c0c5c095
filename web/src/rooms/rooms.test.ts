import { describe, expect, it } from "vitest";

import { found, tokensOf, wayTo, type Member, type Wait } from "@/rooms/rooms";
import { waysOf } from "@/rooms/waits";

it.each([
  ["200k", 200_000],
  ["1.5M", 1_500_000],
  [" 900 ", 900],
  ["0", undefined],
  ["many", undefined],
  ["", undefined],
])("%j is %j tokens", (text, n) => expect(tokensOf(text)).toBe(n));

it.each([
  ["task:t7", "/tasks/t7"],
  ["merge:t7", "/tasks/t7"],
  ["node:r1/api", "/runs/r1/nodes/api"],
  ["merge:r1/a b", "/runs/r1/nodes/a%20b"],
])("%s is at %s", (about, path) => expect(wayTo(about)).toBe(path));

describe("what a room waits for", () => {
  const ann: Member = { name: "ann", agent: "auth.ann", kind: "claude", model: "", role: "", mode: "headless", guest: false, state: "down", why: "", turn: "", turns: 3, unread: 0, used: 0, tokens: true };
  const wait = (way: Wait["way"], act: Wait["do"], command = "", who = "ann"): Wait => ({ what: "", try: command, who, way, do: act, holds: true });
  const labels = (w: Wait) => waysOf(w, [ann], "auth").map((way) => (way.type === "order" ? way.label : way.type));

  it("has a button for each order that helps", () => {
    expect(waysOf(wait("order", ["continue"], "cmux rooms continue auth", ""), [ann], "auth")).toEqual([{ type: "order", label: "Continue the round", order: { do: "continue" } }]);
    expect(waysOf(wait("order", ["wake"]), [ann], "auth")).toEqual([{ type: "order", label: "Wake ann", order: { do: "wake", names: ["ann"] } }]);
    expect(labels(wait("order", ["stop", "wait"]))).toEqual(["Stop ann", "Give it more time"]);
    expect(labels(wait("order", ["resume"], "cmux rooms resume auth", ""))).toEqual(["Resume"]);
    expect(labels(wait("order", ["resume"], "cmux rooms open auth", ""))).toEqual(["Start the monitor"]);
  });

  it("leads to where a person answers", () => {
    expect(waysOf(wait("answer", []), [ann], "auth")).toEqual([{ type: "answer", name: "ann", agent: "auth.ann" }]);
    expect(waysOf(wait("terminal", []), [ann], "auth")).toEqual([{ type: "page", label: "Open the terminal of ann", to: "/agents/auth.ann?tab=terminal" }]);
  });

  it("leads to the decisions of the room", () => {
    expect(waysOf(wait("decision", [], "", ""), [ann], "auth")).toEqual([{ type: "page", label: "Decide", to: "/rooms/auth?decisions" }]);
  });

  it("names a command that the page has nothing for", () => {
    expect(waysOf(wait("command", [], "cmux rooms set auth tokens=N"), [ann], "auth")).toEqual([{ type: "command", command: "cmux rooms set auth tokens=N" }]);
  });
});

it.each([
  [3, 3, " ", "3 rooms"],
  [1, 3, "auth", "1 of 3 rooms matches"],
  [0, 1, "auth", "0 of 1 room match"],
  [2, 3, "auth", "2 of 3 rooms match"],
])("%d of %d with %j is %s", (seen, all, typed, says) => expect(found(seen, all, typed)).toBe(says));
