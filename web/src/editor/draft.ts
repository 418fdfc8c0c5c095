/*
 * A text that is edited, and the file that it is of, as a pure machine. Somebody else,
 * an agent even, may write the file meanwhile. It knows no React and no storage.
 */
import type { Api } from "@/api/client";

type File = Api<"ConfigText">;

export interface Draft {
  text: string;
  base: File; // what the text was made from
  disk: File; // the file as it was seen last
}

export function open(file: File): Draft {
  return { text: file.text, base: file, disk: file };
}

/** Whether there is something to save. */
export function dirty({ text, base }: Draft): boolean {
  return !base.there || text !== base.text;
}

/** Whether the file says something else than what the text was made from. */
export function changed({ base, disk }: Draft): boolean {
  return base.sum !== disk.sum || base.there !== disk.there;
}

/** The file was looked at again: what nobody edits here follows it. */
export function look(draft: Draft, file: File): Draft {
  if (file.there && (!dirty(draft) || draft.text === file.text)) {
    return { text: file.text, base: file, disk: file };
  }
  const next = { ...draft, disk: file };
  return changed(next) ? next : { ...next, base: file };
}

/** The text was written; what was typed since is not. */
export function wrote(draft: Draft, file: File): Draft {
  return { ...draft, base: file, disk: file };
}

/** The file's text instead of this one. */
export function take(draft: Draft): Draft {
  return open(draft.disk);
}

/** A draft as it is kept, to be found again after another page was looked at; empty: there is nothing to keep. */
export function keep(draft: Draft): string {
  const { text, base } = draft;
  return text === open(base).text ? "" : JSON.stringify({ text, base });
}

/** The draft that was kept, of this file; without one the file's own text. */
export function restore(kept: string | null, file: File): Draft {
  const was = parse(kept);
  return was === undefined || was.base.file !== file.file ? open(file) : look({ ...was, disk: was.base }, file);
}

function parse(kept: string | null): { text: string; base: File } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(kept ?? "");
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || !("text" in value) || !("base" in value) || typeof value.text !== "string") {
    return undefined;
  }
  const base = value.base as Partial<File> | null;
  if (typeof base !== "object" || base === null || typeof base.text !== "string" || typeof base.sum !== "string" || typeof base.file !== "string" || typeof base.there !== "boolean") {
    return undefined;
  }
  return { text: value.text, base: { text: base.text, sum: base.sum, file: base.file, there: base.there } };
}

/** The names of the nodes in a text, as far as they can be seen while the text has faults. */
export function namesIn(text: string): string[] {
  return [...new Set([...text.matchAll(/^\s*-\s+\{?\s*name:\s*["']?([A-Za-z0-9_][\w.-]*)/gm)].map((m) => m[1] ?? ""))];
}

/** The line, from 1, at which a text begins the node of that name; undefined: it has none. */
export function lineOf(text: string, name: string): number | undefined {
  const at = text.split("\n").findIndex((line) => {
    const found = /(?:^|[\s{,-])name:\s*(?:"([^"]*)"|'([^']*)'|([^\s,}#]+))/.exec(line);
    return found !== null && (found[1] ?? found[2] ?? found[3]) === name;
  });
  return at < 0 ? undefined : at + 1;
}

/** The page of the graph, at a node of it. */
export function graphAt(node: string): string {
  return `/config/agents?node=${encodeURIComponent(node)}`;
}

/** The least change that makes one text of another: what stands before and behind it stays as it is, the cursor too. */
export function change(was: string, now: string): { from: number; to: number; insert: string } {
  let from = 0;
  const most = Math.min(was.length, now.length);
  while (from < most && was.charCodeAt(from) === now.charCodeAt(from)) {
    from++;
  }
  let same = 0;
  while (same < most - from && was.charCodeAt(was.length - 1 - same) === now.charCodeAt(now.length - 1 - same)) {
    same++;
  }
  return { from, to: was.length - same, insert: now.slice(from, now.length - same) };
}
