/*
 * The lines that two texts differ in. Lines that stand once in both anchor the rest
 * (patience); between anchors the shortest edit is looked for, to a bound: beyond it
 * everything between is said to be replaced.
 */

/** A run of lines: `same` in both, or taken from the old and put into the new. Indexes begin at 0, ends are not in. */
export interface Piece {
  same: boolean;
  old: readonly [from: number, to: number];
  new: readonly [from: number, to: number];
}

/** The most edits that are looked for between two anchors. */
const mostEdits = 800;

/** The lines of a text. A text that ends with a line feed has no empty line after it. */
export function linesOf(text: string): string[] {
  if (text === "") {
    return [];
  }
  const lines = text.split("\n");
  if (lines.at(-1) === "") {
    lines.pop();
  }
  return lines;
}

/** How two lists of lines differ, in order and without gaps. */
export function diff(old: readonly string[], now: readonly string[]): Piece[] {
  const pairs: (readonly [number, number])[] = []; // lines that are the same, in order
  let a = 0;
  let b = 0;
  while (a < old.length && b < now.length && old[a] === now[b]) {
    pairs.push([a++, b++]);
  }
  let aEnd = old.length;
  let bEnd = now.length;
  while (aEnd > a && bEnd > b && old[aEnd - 1] === now[bEnd - 1]) {
    aEnd--;
    bEnd--;
  }
  for (const [x, y] of [...anchors(old, a, aEnd, now, b, bEnd), [aEnd, bEnd] as const]) {
    between(old, a, x, now, b, y, pairs);
    if (x < aEnd) {
      pairs.push([x, y]);
    }
    a = x + 1;
    b = y + 1;
  }
  for (let i = 0; aEnd + i < old.length; i++) {
    pairs.push([aEnd + i, bEnd + i]);
  }
  return pieces(pairs, old.length, now.length);
}

/** Lines that stand once in each part, the longest chain of them in order. */
function anchors(old: readonly string[], a: number, aEnd: number, now: readonly string[], b: number, bEnd: number): (readonly [number, number])[] {
  const once = new Map<string, { old: number; new: number }>();
  const note = (lines: readonly string[], from: number, to: number, side: "old" | "new") => {
    for (let i = from; i < to; i++) {
      const line = lines[i] ?? "";
      const at = once.get(line) ?? { old: -1, new: -1 };
      at[side] = at[side] === -1 ? i : -2;
      once.set(line, at);
    }
  };
  note(old, a, aEnd, "old");
  note(now, b, bEnd, "new");
  const both = [...once.values()].filter((at) => at.old >= 0 && at.new >= 0).sort((x, y) => x.old - y.old);
  // The longest increasing chain of new indexes, by piles.
  const tops: number[] = [];
  const before: number[] = [];
  both.forEach(({ new: y }, i) => {
    let low = 0;
    let high = tops.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if ((both[tops[mid] ?? 0]?.new ?? 0) < y) {
        low = mid + 1;
      } else {
        high = mid;
      }
    }
    before[i] = low === 0 ? -1 : (tops[low - 1] ?? -1);
    tops[low] = i;
  });
  const chain: (readonly [number, number])[] = [];
  for (let i = tops.at(-1) ?? -1; i >= 0; i = before[i] ?? -1) {
    const at = both[i];
    if (at) {
      chain.push([at.old, at.new]);
    }
  }
  return chain.reverse();
}

/** Adds the pairs of the shortest edit between two parts (Myers), if it is within the bound. */
function between(old: readonly string[], a: number, aEnd: number, now: readonly string[], b: number, bEnd: number, pairs: (readonly [number, number])[]): void {
  while (a < aEnd && b < bEnd && old[a] === now[b]) {
    pairs.push([a++, b++]);
  }
  const tail: (readonly [number, number])[] = [];
  while (aEnd > a && bEnd > b && old[aEnd - 1] === now[bEnd - 1]) {
    tail.push([--aEnd, --bEnd]);
  }
  const n = aEnd - a;
  const m = bEnd - b;
  if (n > 0 && m > 0) {
    pairs.push(...shortest((x, y) => old[a + x] === now[b + y], n, m).map(([x, y]) => [a + x, b + y] as const));
  }
  pairs.push(...tail.reverse());
}

function shortest(equal: (x: number, y: number) => boolean, n: number, m: number): [number, number][] {
  const most = Math.min(n + m, mostEdits);
  const trace: Int32Array[] = [];
  const best = new Int32Array(2 * most + 3);
  const mid = most + 1;
  const at = (v: Int32Array, k: number) => v[k] ?? 0;
  for (let d = 0; d <= most; d++) {
    trace.push(best.slice(mid - d - 1, mid + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && at(best, mid + k - 1) < at(best, mid + k + 1));
      let x = down ? at(best, mid + k + 1) : at(best, mid + k - 1) + 1;
      let y = x - k;
      while (x < n && y < m && equal(x, y)) {
        x++;
        y++;
      }
      best[mid + k] = x;
      if (x >= n && y >= m) {
        return walk(trace, n, m);
      }
    }
  }
  return []; // more than is looked for: all of it is replaced
}

/** The way back from the end, by what was best before each edit. */
function walk(trace: readonly Int32Array[], n: number, m: number): [number, number][] {
  const pairs: [number, number][] = [];
  let x = n;
  let y = m;
  for (let d = trace.length - 1; d >= 0; d--) {
    const v = trace[d] ?? new Int32Array();
    const at = (k: number) => v[k + d + 1] ?? 0;
    const k = x - y;
    const from = k === -d || (k !== d && at(k - 1) < at(k + 1)) ? k + 1 : k - 1;
    const px = d === 0 ? 0 : at(from);
    const py = d === 0 ? 0 : px - from;
    while (x > px && y > py) {
      pairs.push([--x, --y]);
    }
    x = px;
    y = py;
  }
  return pairs.reverse();
}

function pieces(pairs: readonly (readonly [number, number])[], n: number, m: number): Piece[] {
  const all: Piece[] = [];
  let a = 0;
  let b = 0;
  const differ = (x: number, y: number) => {
    if (x > a || y > b) {
      all.push({ same: false, old: [a, x], new: [b, y] });
    }
  };
  for (const [x, y] of pairs) {
    differ(x, y);
    const last = all.at(-1);
    if (last?.same === true) {
      all[all.length - 1] = { same: true, old: [last.old[0], x + 1], new: [last.new[0], y + 1] };
    } else {
      all.push({ same: true, old: [x, x + 1], new: [y, y + 1] });
    }
    a = x + 1;
    b = y + 1;
  }
  differ(n, m);
  return all;
}
