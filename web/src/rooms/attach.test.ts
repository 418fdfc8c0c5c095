import { expect, test } from "vitest";

import { marks, picked } from "@/rooms/attach";

const file = (name: string, size = 1, lastModified = 1) => new File([new Uint8Array(size)], name, { lastModified });

test("a file is attached once, and what cannot be is named", () => {
  const first = picked([], [file("a.txt"), file("a.txt"), file("a.txt", 2), file("a.txt", 1, 2), file("empty", 0), file("a\u202eb", 0), file("large", 10 * 2 ** 20 + 1), file("most", 10 * 2 ** 20)]);
  expect(first.files.map(({ id, file: { name, size } }) => [id, name, size])).toEqual([[1, "a.txt", 1], [2, "a.txt", 2], [3, "a.txt", 1], [4, "most", 10 * 2 ** 20]]);
  expect(first.faults).toEqual([
    "empty is empty, or a folder: attach the files in it.",
    "a⟨U+202E⟩b is empty, or a folder: attach the files in it.",
    "large is larger than 10 MB, which is the most: attach a part of it.",
  ]);
  const second = picked(first.files.slice(1), Array.from({ length: 8 }, (_, i) => file(`n${i}`)));
  expect(second.files.map(({ id }) => id)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect(second.faults).toEqual(["n7 is not attached: a message may have 10 files."]);
  expect(new Set(marks(second.files)).size).toBe(10);
});
