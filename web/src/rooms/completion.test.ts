import { expect, it } from "vitest";

import { completed, typedName } from "@/rooms/completion";

const names = ["claude", "Ada", "codex"];

it.each([
  ["@c", ["claude", "codex"]],
  ["ask @A", ["Ada", "all"]],
  ["(@", ["claude", "Ada", "codex", "all"]],
  ["@claude", undefined], // it is there
  ["@eve", undefined],
  ["me@c", undefined],
  ["/@c", undefined],
  ["c", undefined],
])("%s may become %j", (text, found) => expect(typedName(text, text.length, names)?.names).toEqual(found));

it("takes a name in the middle of a text, and none inside of a word", () => {
  const text = "ask @co about it";
  const typed = typedName(text, 7, names);
  expect(typed).toMatchObject({ from: 4, to: 7, names: ["codex"] });
  expect(typed && completed(text, typed, "codex")).toEqual({ text: "ask @codex about it", caret: 11 });
  expect(typedName("@codex", 3, names)).toBeUndefined();
  expect(completed("@c", { from: 0, to: 2 }, "codex")).toEqual({ text: "@codex ", caret: 7 });
});
