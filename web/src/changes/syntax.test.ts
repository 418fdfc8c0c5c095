import { expect, test } from "vitest";

import { commentOf, pieces } from "@/changes/syntax";

test.each([
  ["a/b.go", "//"],
  ["x.test.tsx", "//"],
  ["deploy.yml", "#"],
  ["sub/Makefile", "#"],
  ["q.sql", "--"],
  ["README.md", undefined],
  ["plain", undefined],
])("a comment in %s begins with %s", (path, want) => {
  expect(commentOf(path)).toBe(want);
});

const told = (line: string, comment: string | undefined) => pieces(line, comment).map((p) => `${p.kind}:${p.text}`);

test.each([
  ['return "a // b" // no', "//", ["keyword:return", "plain: ", 'string:"a // b"', "plain: ", "comment:// no"]],
  ["x := 12 + y2", "//", ["plain:x := ", "number:12", "plain: + y2"]],
  ["color: a#b # why", "#", ["plain:color: a#b ", "comment:# why"]],
  ["it's open", "//", ["plain:it", "string:'s open"]],
  ["if x", undefined, ["plain:if x"]],
  ["", "//", []],
] as const)("%s", (line, comment, want) => {
  expect(told(line, comment)).toEqual(want);
});

test("the pieces make up the line, whatever it is", () => {
  for (const line of ["\\\"'`//#--\u0000é\u{1F600} ", "'", "a\\", "a\r", "\u2028x", "//".repeat(50), "x".repeat(5000)]) {
    for (const comment of ["//", "#", "--", undefined]) {
      expect(pieces(line, comment).map((p) => p.text).join("")).toBe(line);
    }
  }
});
