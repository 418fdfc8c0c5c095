import { expect, it } from "vitest";

import type { Api } from "@/api/client";
import { foldersIn, parentOf } from "@/rooms/folders";

const entry = (name: string, kind: Api<"FileEntry">["kind"]): Api<"FileEntry"> => ({ name, path: name, kind, size: 0, modified_at: "" });

it("offers folders alone, and not those of git and cmux", () => {
  const all = [entry("src", "folder"), entry(".git", "folder"), entry(".CMUX", "folder"), entry(".github", "folder"), entry("out", "link"), entry("a.md", "file"), entry("pipe", "other")];
  expect(foldersIn(all).map((e) => e.name)).toEqual(["src", ".github"]);
});

it.each([
  ["a/b/c", "a/b"],
  ["a", ""],
  ["", ""],
])("%j is in %j", (path, parent) => expect(parentOf(path)).toBe(parent));
