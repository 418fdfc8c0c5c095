/*
 * The part of a log that the page has, as lines with numbers that stay when more comes
 * before or behind. It knows no server and no React.
 */
export interface Line {
  n: number; // below 0: it came before what was loaded first
  text: string;
}

export interface Kept {
  lines: readonly Line[];
  from: number; // the byte where the first begins
  next: number; // the byte behind the last
}

interface Part {
  text: string;
  from: number;
  next: number;
  size: number;
}

/** What a terminal would show of a line that a program wrote over, such as a progress bar. */
function last(line: string): string {
  const text = line.endsWith("\r") ? line.slice(0, -1) : line;
  return text.slice(text.lastIndexOf("\r") + 1);
}

function split(text: string): string[] {
  if (text === "") {
    return [];
  }
  return text.replace(/\n$/, "").split("\n").map(last);
}

export function beginning(part: Part): Kept {
  return { lines: split(part.text).map((text, n) => ({ n, text })), from: part.from, next: part.next };
}

/** Appends a part. A log that became shorter was replaced. */
export function append(was: Kept, part: Part): Kept {
  if (part.size < was.next) {
    return beginning({ ...part, text: "", from: 0, next: 0 });
  }
  if (part.from !== was.next) {
    return was; // it answers an older question
  }
  const first = (was.lines.at(-1)?.n ?? -1) + 1;
  return { ...was, lines: [...was.lines, ...split(part.text).map((text, i) => ({ n: first + i, text }))], next: part.next };
}

/** Adds what is before. */
export function prepend(was: Kept, part: Part): Kept {
  if (part.next !== was.from) {
    return { ...was, from: part.next === 0 ? 0 : was.from };
  }
  const come = split(part.text);
  const first = (was.lines[0]?.n ?? 0) - come.length;
  return { ...was, lines: [...come.map((text, i) => ({ n: first + i, text })), ...was.lines], from: part.from };
}

/** The indexes of the lines that hold a text, whatever its case. */
export function find(lines: readonly Line[], text: string): number[] {
  const wanted = text.toLowerCase();
  if (wanted === "") {
    return [];
  }
  const at: number[] = [];
  lines.forEach((l, i) => {
    if (l.text.toLowerCase().includes(wanted)) {
      at.push(i);
    }
  });
  return at;
}
