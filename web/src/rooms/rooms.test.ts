import { describe, expect, it } from "vitest";

import { tokensOf, type Member } from "@/rooms/rooms";
import { saidOf, shownWaits, waysOf } from "@/rooms/waits";

it.each([
  ["200k", 200_000],
  ["1.5M", 1_500_000],
  [" 900 ", 900],
  ["0", undefined],
  ["many", undefined],
  ["", undefined],
])("%j is %j tokens", (text, n) => expect(tokensOf(text)).toBe(n));

describe("what a room waits for", () => {
  const ann: Member = { name: "ann", agent: "auth.ann", kind: "claude", model: "", role: "", mode: "headless", guest: false, state: "down", why: "", turn: "", turns: 3, unread: 0, used: 0, tokens: true };
  const ways = (command: string, who = "ann") => waysOf({ what: "", try: command, who }, [ann]);

  it("has a button for each command that the server names", () => {
    expect(ways("cmux rooms continue auth", "")).toEqual([{ type: "order", label: "Continue the round", order: { do: "continue" } }]);
    expect(ways("cmux rooms stop auth ann").map((w) => (w.type === "order" ? w.order.do : w.type))).toEqual(["wait", "stop"]);
    expect(ways("cmux rooms answer auth ann TEXT")).toEqual([{ type: "answer", name: "ann", agent: "auth.ann" }]);
    expect(ways("cmux workers attach auth.ann")).toEqual([{ type: "agent", label: "Open its terminal", to: "/agents/auth.ann?tab=terminal" }]);
  });

  it("names a command that the page does not know", () => {
    expect(ways("cmux doctor")).toEqual([{ type: "command", command: "cmux doctor" }]);
  });

  it("leaves commands out of what it says", () => {
    expect(saidOf({ what: "ann has worked for 20m0s (or: cmux rooms go-on auth ann)", try: "", who: "ann" })).toBe("ann has worked for 20m0s");
  });

  it("says once that a room rests which is paused and has no monitor", () => {
    const of = (command: string) => ({ what: command, try: command, who: "" });
    const [paused, down] = [of("cmux rooms resume auth"), of("cmux rooms open auth")];
    expect(shownWaits([paused, down])).toEqual([paused]);
    expect(shownWaits([down])).toEqual([down]);
  });
});
