import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { append, beginning, find, prepend } from "@/log/lines";

describe("the lines of a log", () => {
  it("are the whole log, however it is cut into parts at line ends", () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z]{0,5}$/), { minLength: 3, maxLength: 30 }), fc.nat(), fc.nat(), (texts, x, y) => {
        const [a, b] = [x % texts.length, y % texts.length].sort((p, q) => p - q) as [number, number];
        const part = (from: number, to: number) => {
          const before = texts.slice(0, from).map((t) => `${t}\n`).join("").length;
          const text = texts.slice(from, to).map((t) => `${t}\n`).join("");
          return { text, from: before, next: before + text.length, size: 1000 };
        };
        const log = prepend(append(beginning(part(a, b)), part(b, texts.length)), part(0, a));
        expect(log.lines.map((l) => l.text)).toEqual(texts);
        expect(log.from).toBe(0);
        expect(new Set(log.lines.map((l) => l.n)).size).toBe(texts.length);
      }),
    );
  });

  it("start again with a log that became shorter, and take no part twice", () => {
    const log = beginning({ text: "a\nb\n", from: 0, next: 4, size: 4 });
    expect(append(log, { text: "b\n", from: 2, next: 4, size: 4 })).toBe(log);
    expect(append(log, { text: "", from: 1, next: 1, size: 1 }).lines).toEqual([]);
  });

  it("are what a terminal shows of them", () => {
    expect(beginning({ text: "a\r\n10 %\r20 %\r\n", from: 0, next: 16, size: 16 }).lines.map((l) => l.text)).toEqual(["a", "20 %"]);
  });

  it("are found whatever their case", () => {
    const { lines } = beginning({ text: "Error\nfine\nERROR\n", from: 0, next: 17, size: 17 });
    expect(find(lines, "error")).toEqual([0, 2]);
    expect(find(lines, "")).toEqual([]);
  });
});
