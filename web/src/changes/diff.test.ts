import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { diff, linesOf, type Piece } from "@/changes/diff";
import { figures, foldOf, rows, type Row } from "@/changes/rows";

const lines = fc.array(fc.constantFrom("a", "b", "c", "d", "", "}"), { maxLength: 40 });

/** The new lines, made of the old ones by the pieces. */
function apply(pieces: readonly Piece[], old: readonly string[], now: readonly string[]): string[] {
  return pieces.flatMap((p) => (p.same ? old.slice(...p.old) : now.slice(...p.new)));
}

function shape(r: Row): string {
  switch (r.type) {
    case "fold":
      return `… ${r.lines}`;
    case "same":
      return `  ${r.old.text}`;
    case "changed":
      return `${r.old ? `-${r.old.text}` : ""}${r.new ? `+${r.new.text}` : ""}`;
  }
}

describe("diff", () => {
  it("makes the new lines of the old ones, without gaps, and each piece differs from the one before", () => {
    fc.assert(
      fc.property(lines, lines, (old, now) => {
        const pieces = diff(old, now);
        expect(apply(pieces, old, now)).toEqual(now);
        let [a, b, same] = [0, 0, undefined as boolean | undefined];
        for (const p of pieces) {
          expect([p.old[0], p.new[0]]).toEqual([a, b]);
          expect(p.same).not.toBe(same);
          [a, b, same] = [p.old[1], p.new[1], p.same];
          if (p.same) {
            expect(old.slice(...p.old)).toEqual(now.slice(...p.new));
          }
        }
        expect([a, b]).toEqual([old.length, now.length]);
      }),
    );
  });

  it("finds an inserted line and no other", () => {
    const old = linesOf("a\nb\nc\nb\nd\n");
    expect(figures(diff(old, linesOf("a\nb\nc\nx\nb\nd\n")))).toEqual({ added: 1, deleted: 0 });
  });

  it("ends soon with texts that have nothing in common", () => {
    const old = Array.from({ length: 20_000 }, (_, i) => `old ${i % 7}`);
    const now = Array.from({ length: 20_000 }, (_, i) => `new ${i % 7}`);
    const before = performance.now();
    expect(figures(diff(old, now))).toEqual({ added: 20_000, deleted: 20_000 });
    expect(performance.now() - before).toBeLessThan(5000);
  });
});

describe("rows", () => {
  const old = Array.from({ length: 30 }, (_, i) => `line ${i + 1}`);
  const now = old.toSpliced(14, 1, "line fifteen", "and more");
  const pieces = diff(old, now);

  it("folds what is the same, with three lines around a change", () => {
    expect(rows(pieces, old, now, { unified: false, open: new Set() }).map(shape)).toEqual([
      "… 11",
      "  line 12",
      "  line 13",
      "  line 14",
      "-line 15+line fifteen",
      "+and more",
      "  line 16",
      "  line 17",
      "  line 18",
      "… 12",
    ]);
  });

  it("shows what went before what came, in one column", () => {
    const seen = rows(pieces, old, now, { unified: true, open: new Set() });
    expect(seen.slice(4, 7).map(shape)).toEqual(["-line 15", "+line fifteen", "+and more"]);
    expect(seen[4]).toMatchObject({ old: { differs: [5, 7] } });
  });

  it("opens a fold alone", () => {
    const seen = rows(pieces, old, now, { unified: false, open: new Set([0]) });
    expect(seen.slice(0, 12).map(shape)).toEqual([...old.slice(0, 11).map((l) => `  ${l}`), "  line 12"]);
    expect(seen.at(-1)).toEqual({ type: "fold", id: 18, lines: 12 });
  });

  it("shows every line of both sides once, when all folds are open", () => {
    fc.assert(
      fc.property(lines, lines, fc.boolean(), (a, b, unified) => {
        const open = new Set(a.map((_, i) => i));
        const seen = rows(diff(a, b), a, b, { unified, open });
        expect(seen.flatMap((r) => (r.type === "fold" || !r.old ? [] : [r.old.n]))).toEqual(a.map((_, i) => i + 1));
        expect(seen.flatMap((r) => (r.type === "fold" || !r.new ? [] : [r.new.n]))).toEqual(b.map((_, i) => i + 1));
      }),
    );
  });
});

describe("foldOf", () => {
  const old = Array.from({ length: 40 }, (_, i) => `line ${i + 1}`);
  const now = ["first", ...old.with(19, "changed")]; // a line number is one more than before
  const pieces = diff(old, now);
  it.each([1, 2, 5, 10, 18, 21, 24, 30, 41])("opens what hides line %i", (n) => {
    const shown = (open: ReadonlySet<number>) => rows(pieces, old, now, { unified: true, open }).some((r) => r.type !== "fold" && r.new?.n === n);
    const fold = foldOf(pieces, n);
    expect(shown(new Set(fold === undefined ? [] : [fold]))).toBe(true);
  });
  it("opens nothing for a changed line, or for one that is not there", () => expect([foldOf(pieces, 1), foldOf(pieces, 21), foldOf(pieces, 99)]).toEqual([undefined, undefined, undefined]));
});
