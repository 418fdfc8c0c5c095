/*
 * What the input of a tool's call says to a person. Programs call their tools by
 * different names; the fields tell more than the name.
 */

/** A change that a call makes to a file. */
export interface Edit {
  path: string;
  old: string;
  now: string;
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function text(f: Fields, ...names: readonly string[]): string | undefined {
  for (const n of names) {
    const v = f[n];
    if (typeof v === "string" && v !== "") {
      return v;
    }
  }
  return undefined;
}

/** The command that a call runs. */
export function commandOf(input: unknown): string | undefined {
  const f = fieldsOf(input);
  const c = f.command ?? f.cmd;
  if (Array.isArray(c)) {
    return c.filter((p) => typeof p === "string").join(" ");
  }
  return typeof c === "string" && c !== "" ? c : undefined;
}

/** What a call is about, in one line. */
export function summary(input: unknown): string {
  const f = fieldsOf(input);
  const said = commandOf(input) ?? text(f, "file_path", "path", "notebook_path", "pattern", "query", "url", "description", "title", "subject", "summary", "prompt", "text", "message");
  const line = (said ?? (typeof input === "string" ? input : (changesOf(f)[0]?.path ?? ""))).trim();
  const end = line.indexOf("\n");
  const first = end < 0 ? line : `${line.slice(0, end)} …`;
  return first.length > 200 ? `${first.slice(0, 200)} …` : first;
}

/** The changes that a call makes, where its input holds them. */
export function editsOf(input: unknown): Edit[] {
  const f = fieldsOf(input);
  const path = text(f, "file_path", "path", "notebook_path");
  if (path === undefined) {
    return [];
  }
  const one = (e: Fields): Edit[] => {
    const old = e.old_string ?? e.old_str ?? e.oldText;
    const now = e.new_string ?? e.new_str ?? e.newText;
    return typeof old === "string" && typeof now === "string" ? [{ path, old, now }] : [];
  };
  if (Array.isArray(f.edits)) {
    return f.edits.flatMap((e) => one(fieldsOf(e)));
  }
  const content = f.content ?? f.file_text;
  return typeof content === "string" ? [{ path, old: "", now: content }] : one(f);
}

/** A patch that a call applies to a file, as it stands. */
export interface Patch {
  path: string;
  diff: string;
}

/** The patches of a call that names its changes by file (Codex). */
export function changesOf(input: unknown): Patch[] {
  const { changes } = fieldsOf(input);
  const list = Array.isArray(changes) ? changes.map((c) => [undefined, c] as const) : Object.entries(fieldsOf(changes));
  return list.flatMap(([name, c]) => {
    const f = fieldsOf(c);
    const path = text(f, "path") ?? name;
    const diff = text(f, "diff", "unified_diff");
    return path !== undefined && diff !== undefined ? [{ path, diff }] : [];
  });
}

/** The lines of a patch, by what they do. */
export function patchLines(diff: string): { kind: "same" | "added" | "removed" | "place"; text: string }[] {
  return diff
    .replace(/\n$/, "")
    .split("\n")
    .map((l) => {
      if (l.startsWith("@@")) {
        return { kind: "place", text: l };
      }
      if (l.startsWith("+") && !l.startsWith("+++ ")) {
        return { kind: "added", text: l.slice(1) };
      }
      if (l.startsWith("-") && !l.startsWith("--- ")) {
        return { kind: "removed", text: l.slice(1) };
      }
      return { kind: "same", text: l.replace(/^ /, "") };
    });
}

/** All of an input, for who wants to see it. */
export function inputText(input: unknown): string {
  if (input === undefined || input === null) {
    return "";
  }
  return typeof input === "string" ? input : JSON.stringify(input, null, 2);
}
