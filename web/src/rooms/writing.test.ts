import { describe, expect, it } from "vitest";

import { writing } from "@/rooms/writing";

const at = (second: number) => `2030-01-01T00:00:0${second}.5Z`;

describe("writing", () => {
  const piece = { text: "Post", cut: false, since: at(3) };
  const text = (second: number) => ({ kind: "text" as const, at: at(second) });
  it.each([
    ["nothing is known", undefined, [], ""],
    ["its conversation is not known yet", piece, undefined, ""],
    ["its first text", piece, [], "Post"],
    ["an older text is there", piece, [text(2), text(3)], "Post"],
    ["something else came meanwhile", piece, [text(3), { kind: "usage" as const, at: at(5) }], "Post"],
    ["the whole text is there", piece, [text(3), text(4), { kind: "tool_use" as const, at: at(5) }], ""],
    ["only its end is shown", { ...piece, cut: true }, [], "…Post"],
    ["it writes nothing", { ...piece, text: "" }, [], ""],
  ])("%s", (_, piece, items, want) => {
    expect(writing(piece, items)).toBe(want);
  });
});
