import type { Api } from "@/api/client";

export type Said = Api<"Said">;
export type Mail = Api<"Mail">;

/** A tool call with what it gave. */
export interface Call {
  seq: number;
  at: string;
  tool: string;
  input: unknown;
  result?: string; // missing: it is still at work
  failed: boolean;
}

/** What is seen as one piece of the time line. */
export type Entry =
  | { kind: "mail"; key: string; at: string; mail: Mail; mine: boolean }
  | { kind: "text"; key: string; at: string; by: "agent" | "prompt"; text: string; cut: number }
  | { kind: "thoughts"; key: string; at: string; texts: readonly string[] }
  | { kind: "calls"; key: string; at: string; calls: readonly Call[] }
  | { kind: "note"; key: string; at: string; word: string; text: string };

/** Words for what is neither said nor done. */
const words: Readonly<Partial<Record<Said["kind"], string>>> = {
  session: "Conversation",
  denied: "Denied",
  subagent: "Subagent",
  request_failed: "Request failed",
  interrupted: "Interrupted",
  compacted: "Compacted",
  status: "State",
  question: "Question",
  answer: "Answer",
  report: "Report",
  check: "Check",
  hand_back: "Handed back",
  limit: "Limit",
  note: "Note",
  end: "End",
};

/**
 * Messages, thoughts and tool calls of an agent in one line, in order of time. Thoughts
 * that follow each other are one piece, and so are tool calls; a call and its result are
 * joined by their id. `person` is the address whose messages are the reader's own.
 */
export function timeline(said: readonly Said[], mails: readonly Mail[], person = "user"): Entry[] {
  const entries: Entry[] = [];
  const open = new Map<string, { entry: number; call: number }>();
  const letters = [...mails].sort((a, b) => order(a.ts, b.ts) || a.id.localeCompare(b.id));
  const events = [...said].sort((a, b) => a.seq - b.seq);
  let next = 0;
  const lettersUntil = (at?: string) => {
    for (let m = letters[next]; m !== undefined && (at === undefined || order(m.ts, at) <= 0); m = letters[next]) {
      entries.push({ kind: "mail", key: `m-${m.id}`, at: m.ts, mail: m, mine: m.from === person });
      next++;
    }
  };
  for (const s of events) {
    lettersUntil(s.at);
    put(entries, open, s);
  }
  lettersUntil();
  return entries;
}

function order(a: string, b: string): number {
  return Date.parse(a) - Date.parse(b);
}

function put(entries: Entry[], open: Map<string, { entry: number; call: number }>, s: Said): void {
  const key = `s-${s.seq}`;
  const text = s.text ?? s.message ?? "";
  const last = entries.at(-1);
  switch (s.kind) {
    case "usage":
      return; // figures have a place of their own
    case "thought":
      if (text === "") {
        return;
      }
      if (last?.kind === "thoughts") {
        entries[entries.length - 1] = { ...last, texts: [...last.texts, text] };
      } else {
        entries.push({ kind: "thoughts", key, at: s.at, texts: [text] });
      }
      return;
    case "tool_use": {
      const call: Call = { seq: s.seq, at: s.at, tool: s.tool ?? "tool", input: s.input, failed: false };
      if (last?.kind === "calls") {
        entries[entries.length - 1] = { ...last, calls: [...last.calls, call] };
      } else {
        entries.push({ kind: "calls", key, at: s.at, calls: [call] });
      }
      if (s.tool_id !== undefined && s.tool_id !== "") {
        const entry = entries.length - 1;
        const group = entries[entry];
        open.set(s.tool_id, { entry, call: group?.kind === "calls" ? group.calls.length - 1 : 0 });
      }
      return;
    }
    case "tool_result": {
      const at = s.tool_id === undefined ? undefined : open.get(s.tool_id);
      const group = at && entries[at.entry];
      if (!at || group?.kind !== "calls") {
        entries.push({ kind: "note", key, at: s.at, word: s.failed === true ? "Tool failed" : "Tool result", text });
        return;
      }
      const calls = group.calls.map((c, i) => (i === at.call ? { ...c, result: text, failed: s.failed === true } : c));
      entries[at.entry] = { ...group, calls };
      return;
    }
    case "text":
    case "prompt":
      if (text !== "") {
        entries.push({ kind: "text", key, at: s.at, by: s.kind === "text" ? "agent" : "prompt", text, cut: s.cut ?? 0 });
      }
      return;
    default:
      entries.push({ kind: "note", key, at: s.at, word: words[s.kind] ?? s.kind, text: noteOf(s, text) });
  }
}

function noteOf(s: Said, text: string): string {
  const check = s.command === undefined ? "" : `${s.command}${s.timed_out === true ? ": timed out" : s.exit === undefined ? "" : `: exit ${s.exit}`}`;
  return [s.state, check, text].filter((t) => t !== undefined && t !== "").join(" · ");
}

/** What a tool was called with, in a line. */
export function inputLine(input: unknown): string {
  if (typeof input === "string") {
    return input;
  }
  if (typeof input !== "object" || input === null) {
    return "";
  }
  const fields = input as Record<string, unknown>;
  for (const key of ["command", "file_path", "path", "pattern", "query", "url", "description", "prompt"]) {
    const value = fields[key];
    if (typeof value === "string" && value !== "") {
      return value;
    }
  }
  const text = JSON.stringify(input);
  return text === "{}" ? "" : text;
}
