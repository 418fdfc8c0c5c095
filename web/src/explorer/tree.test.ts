import { expect, it } from "vitest";

import { ancestors, isMarkdown, nameOf } from "@/explorer/tree";

it("a path has the folders above it", () => {
  expect(ancestors("a/b/c.md")).toEqual(["a", "a/b"]);
  expect(ancestors("c.md")).toEqual([]);
  expect(ancestors("")).toEqual([]);
  expect(nameOf("a/b/c.md")).toBe("c.md");
  expect(nameOf("c")).toBe("c");
});

it("markdown is told by its name", () => {
  expect(["a.md", "B.MD", "c.markdown", "md", "a.md.txt"].map(isMarkdown)).toEqual([true, true, true, false, false]);
});
