import type { Piece } from "@/changes/diff";

/** A line of one side: its number from 1 on, its text, and what of it differs from the line beside it. */
export interface Line {
  n: number;
  text: string;
  differs?: readonly [from: number, to: number];
}

/** A row of a diff as it is seen. */
export type Row =
  | { type: "same"; old: Line; new: Line }
  | { type: "changed"; old: Line | undefined; new: Line | undefined } // unified: one of them
  | { type: "fold"; id: number; lines: number }; // lines that are the same and not shown

/** Lines around a change that are shown. */
const around = 3;
/** Fewer lines than these are not worth a fold. */
const leastFold = 4;

export interface Shape {
  unified: boolean;
  open: ReadonlySet<number>; // the folds that are open, by the number of their first line
}

/** The rows that show how two lists of lines differ. */
export function rows(pieces: readonly Piece[], old: readonly string[], now: readonly string[], { unified, open }: Shape): Row[] {
  const all: Row[] = [];
  pieces.forEach((p, i) => {
    if (!p.same) {
      all.push(...changed(p, old, now, unified));
      return;
    }
    const length = p.old[1] - p.old[0];
    const head = i === 0 ? 0 : around;
    const tail = i === pieces.length - 1 ? 0 : around;
    const hidden = length - head - tail;
    const id = p.old[0] + head;
    const folded = hidden >= leastFold && !open.has(id);
    for (let k = 0; k < length; k++) {
      if (folded && k === head) {
        all.push({ type: "fold", id, lines: hidden });
        k += hidden - 1;
        continue;
      }
      all.push({ type: "same", old: line(old, p.old[0] + k), new: line(now, p.new[0] + k) });
    }
  });
  return all;
}

/** The fold that hides a line of the new text when nothing is open; undefined: it is shown. */
export function foldOf(pieces: readonly Piece[], n: number): number | undefined {
  const i = pieces.findIndex((p) => n > p.new[0] && n <= p.new[1]);
  const p = pieces[i];
  return p?.same === true ? p.old[0] + (i === 0 ? 0 : around) : undefined;
}

function line(lines: readonly string[], i: number): Line {
  return { n: i + 1, text: lines[i] ?? "" };
}

function changed(p: Piece, old: readonly string[], now: readonly string[], unified: boolean): Row[] {
  const gone: Line[] = [];
  const come: Line[] = [];
  for (let i = p.old[0]; i < p.old[1]; i++) {
    gone.push(line(old, i));
  }
  for (let i = p.new[0]; i < p.new[1]; i++) {
    come.push(line(now, i));
  }
  for (let i = 0; i < Math.min(gone.length, come.length); i++) {
    const [a, b] = [gone[i], come[i]];
    if (a && b) {
      mark(a, b);
    }
  }
  if (unified) {
    return [...gone.map((l): Row => ({ type: "changed", old: l, new: undefined })), ...come.map((l): Row => ({ type: "changed", old: undefined, new: l }))];
  }
  return Array.from({ length: Math.max(gone.length, come.length) }, (_, i): Row => ({ type: "changed", old: gone[i], new: come[i] }));
}

/** Marks what differs between two lines, where they have enough in common. */
function mark(a: Line, b: Line): void {
  const most = Math.min(a.text.length, b.text.length);
  let head = 0;
  while (head < most && a.text[head] === b.text[head]) {
    head++;
  }
  let tail = 0;
  while (tail < most - head && a.text[a.text.length - 1 - tail] === b.text[b.text.length - 1 - tail]) {
    tail++;
  }
  if (head + tail < Math.max(a.text.length, b.text.length) / 4) {
    return;
  }
  // Not through the middle of a character that takes two.
  if (head > 0 && /[\uD800-\uDBFF]/.test(a.text[head - 1] ?? "")) {
    head--;
  }
  if (tail > 0 && /[\uDC00-\uDFFF]/.test(a.text[a.text.length - tail] ?? "")) {
    tail--;
  }
  a.differs = [head, a.text.length - tail];
  b.differs = [head, b.text.length - tail];
}

/** How many lines came and went. */
export function figures(pieces: readonly Piece[]): { added: number; deleted: number } {
  let added = 0;
  let deleted = 0;
  for (const p of pieces) {
    if (!p.same) {
      deleted += p.old[1] - p.old[0];
      added += p.new[1] - p.new[0];
    }
  }
  return { added, deleted };
}
