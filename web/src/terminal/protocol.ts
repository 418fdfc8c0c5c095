/*
 * What the server's terminal says (its package's doc has the contract), and how often
 * a lost connection is opened again. It knows no socket and no React.
 */

/** What the server says of a terminal. */
export type Said =
  | { type: "screen"; cols: number; rows: number; log: boolean } // the next bytes draw all of it
  | { type: "state"; live: boolean; holder: Holder; why: string }
  | { type: "refused"; detail: string; way: string | undefined }
  | { type: "ended" };

/** Who types: this page, another one, nobody. */
export type Holder = "you" | "other" | "";

/** What is known of a terminal beside its screen. */
export interface Terminal {
  phase: "connecting" | "open" | "lost" | "ended" | "refused"; // refused: it is not tried again by itself
  live: boolean; // a program runs in it
  log: boolean; // there is no pane: what is seen is the log
  cols: number;
  rows: number;
  holder: Holder;
  why: string; // what keeps this page from typing
  refused: { detail: string; way: string | undefined } | undefined;
}

export const unknown: Terminal = { phase: "connecting", live: false, log: false, cols: 80, rows: 24, holder: "", why: "", refused: undefined };

const mostCells = 1000;

function size(n: unknown, otherwise: number): number {
  return typeof n === "number" && Number.isInteger(n) && n > 0 ? Math.min(n, mostCells) : otherwise;
}

function text(v: unknown): string {
  return typeof v === "string" ? v : "";
}

/** The message in a text; undefined: this page does not know it. */
export function parse(message: string): Said | undefined {
  let value: unknown;
  try {
    value = JSON.parse(message);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) {
    return undefined;
  }
  const f = value as Record<string, unknown>;
  switch (f.type) {
    case "screen":
      return { type: "screen", cols: size(f.cols, 80), rows: size(f.rows, 24), log: f.log === true };
    case "state":
      return { type: "state", live: f.live === true, holder: f.holder === "you" || f.holder === "other" ? f.holder : "", why: text(f.why) };
    case "refused":
      return { type: "refused", detail: text(f.detail), way: text(f.try) === "" ? undefined : text(f.try) };
    case "ended":
      return { type: "ended" };
    default:
      return undefined;
  }
}

/** What is known after a message. */
export function take(was: Terminal, said: Said): Terminal {
  switch (said.type) {
    case "screen":
      return { ...was, phase: "open", cols: said.cols, rows: said.rows, log: said.log };
    case "state":
      return { ...was, phase: "open", live: said.live, holder: said.holder, why: said.why, refused: said.holder === was.holder ? was.refused : undefined };
    case "refused":
      return { ...was, refused: { detail: said.detail, way: said.way } };
    case "ended":
      return { ...was, phase: "ended", live: false, holder: "" };
  }
}

/** What is known when the connection is lost: who was the holder is none any more. */
export function lose(was: Terminal): Terminal {
  return was.phase === "ended" ? was : { ...was, phase: "lost", holder: "" };
}

/** What is known when the server does not have this page watch. */
export function refuse(was: Terminal, detail: string, way?: string): Terminal {
  return { ...was, phase: "refused", live: false, holder: "", refused: { detail, way } };
}

/** Why a connection with this close code is not opened again; undefined: it is. */
export function forGood(code: number, reason: string): string | undefined {
  switch (code) {
    case 1008: // a policy was violated
      return `The server ended the connection: ${reason === "" ? "it sent too much" : reason}.`;
    case 1009:
      return "The server ended the connection: a message was too long. Nothing of it was typed.";
    default:
      return undefined;
  }
}

/** Whether an answer of this status stays the same when it is asked for again. */
export function stays(status: number): boolean {
  return status === 401 || status === 403 || status === 404;
}

/** The most bytes of a message that the server reads (server/terminal). */
export const mostMessage = 256 << 10;

/** The message that pastes a text; undefined: it is too long for one. */
export function pasted(text: string): string | undefined {
  const message = JSON.stringify({ type: "paste", text });
  return new TextEncoder().encode(message).length > mostMessage ? undefined : message;
}

/** How long to wait before the connection is opened again, in ms. */
export function pause(attempt: number): number {
  return Math.min(15_000, 500 * 2 ** Math.min(attempt, 5));
}

/** A box, a screen in it and the font, to find the size of the font: pixels, cells, and pixels of a cell by pixel of the font. */
export interface Fitting {
  width: number; // with the scrollbar, which comes and goes with the size that is found
  height: number;
  bar: number; // the width of a scrollbar
  cols: number;
  rows: number;
  cellWidth: number;
  cellHeight: number;
}

/** How high xterm.js makes a line. */
export const lineHeight = 1.1;

/**
 * The largest size of the font, in pixels, at which the whole screen fits the box. One that cannot be read that small
 * fits the width; the rest is scrolled.
 */
export function fit({ width, height, bar, cols, rows, cellWidth, cellHeight }: Fitting): number {
  const least = 8; // below it nobody reads: a wider screen is scrolled
  const most = 14;
  if (width <= 0 || height <= 0 || cols <= 0 || cellWidth <= 0) {
    return most;
  }
  const within = (room: number) => Math.max(least, Math.min(most, Math.floor((room / (cols * cellWidth)) * 4) / 4));
  const wide = within(width);
  const high = (size: number) => rows * Math.floor(Math.ceil(size * cellHeight) * lineHeight); // as xterm.js rounds
  for (let size = wide; size >= least; size -= 0.25) {
    if (high(size) <= height) {
      return size;
    }
  }
  return within(width - bar);
}

/**
 * Where a view of `length` pixels that begins at `at` is scrolled to, so that the cell at `cell` is in it, with `after`
 * of what follows where there is that much in all.
 */
export function reveal(at: number, length: number, cell: number, size: number, after: number, all: number): number {
  const end = Math.min(all, cell + size + after);
  let to = at;
  if (end > to + length) {
    to = end - length;
  }
  return Math.max(0, cell < to ? cell : to);
}
