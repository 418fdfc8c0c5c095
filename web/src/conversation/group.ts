/*
 * What was said, thought and done, as it is read: in order, calls of tools that follow
 * each other in one group, each with its result, wherever that came.
 */
import type { Api } from "@/api/client";
import { readable } from "@/chat/letter";

export type Said = Api<"Said">;

/** A call of a tool. */
export interface Call {
  key: string;
  at: string;
  tool: string;
  input: unknown;
  state: "runs" | "done" | "failed" | "denied" | "over"; // over: it ended, and nobody said how
  text: string; // its result, or why it was denied
  cut: number; // bytes that are missing
}

export type Entry =
  | { type: "attempt"; key: string; attempt: number }
  | { type: "told"; key: string; at: string; text: string } // by cmux or a person
  | { type: "text"; key: string; at: string; text: string }
  | { type: "thoughts"; key: string; at: string; texts: readonly string[] }
  | { type: "calls"; key: string; at: string; calls: readonly Call[] }
  | { type: "question" | "answer" | "report"; key: string; at: string; text: string; state: string }
  | { type: "check"; key: string; at: string; command: string; passed: boolean; text: string; took: string }
  | { type: "event"; key: string; at: string; title: string; text: string; bad: boolean };

/**
 * Groups what was said, the oldest first. Only `seq` tells items apart. cmux hears of a question before it reads what
 * the agent was told and said before it: so time orders them, and `seq` what is of one time. What is `hidden` has no entry.
 */
export function group(items: readonly Said[], hidden: (s: Said) => boolean = () => false): Entry[] {
  const entries: Entry[] = [];
  const calls = new Map<string, Call>(); // by attempt and tool_id
  let reports: Call | undefined; // the call that a report came by
  let attempt: number | undefined;
  for (const s of items.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at) || a.seq - b.seq)) {
    if (s.attempt !== attempt && s.attempt > 0) {
      close(calls, reports);
      attempt = s.attempt;
      entries.push({ type: "attempt", key: `a${s.seq}`, attempt });
    }
    if (s.kind === "report") {
      reports = [...calls.values()].findLast((c) => c.state === "runs");
    } else if (rests(s)) {
      close(calls, reports);
    }
    if (!hidden(s)) {
      take(entries, calls, s);
    }
  }
  return entries;
}

/** Whether nothing that was under way before is under way after this. */
function rests({ kind, state, text = "" }: Said): boolean {
  return kind === "end" || kind === "interrupted" || (kind === "session" && state === "ended") || (kind === "status" && text === "" && state === "idle");
}

/** Ends the calls that have no result: that of the report is done, of the others nothing is known. */
function close(calls: ReadonlyMap<string, Call>, reports: Call | undefined): void {
  for (const call of calls.values()) {
    if (call.state === "runs") {
      call.state = call === reports ? "done" : "over";
    }
  }
}

function take(entries: Entry[], calls: Map<string, Call>, s: Said): void {
  const head = { key: String(s.seq), at: s.at };
  const text = s.text ?? "";
  const id = s.tool_id === undefined || s.tool_id === "" ? undefined : `${s.attempt}:${s.tool_id}`;
  switch (s.kind) {
    case "usage":
      return;
    case "prompt":
    case "hand_back":
      if (!saysAnswer(entries, text)) {
        entries.push({ type: "told", ...head, text: readable(text) });
      }
      return;
    case "text":
      if (text.trim() !== "") {
        entries.push({ type: "text", ...head, text });
      }
      return;
    case "thought": {
      const last = entries.at(-1);
      if (last?.type === "thoughts") {
        entries[entries.length - 1] = { ...last, texts: [...last.texts, text] };
      } else if (text.trim() !== "") {
        entries.push({ type: "thoughts", ...head, texts: [text] });
      }
      return;
    }
    case "tool_use": {
      const call: Call = { ...head, tool: s.tool ?? "tool", input: s.input, state: "runs", text: "", cut: s.cut ?? 0 };
      if (id !== undefined) {
        calls.set(id, call);
      }
      addCall(entries, call);
      return;
    }
    case "tool_result":
    case "denied": {
      const state = s.kind === "denied" ? "denied" : s.failed === true ? "failed" : "done";
      const call = id === undefined ? undefined : calls.get(id);
      if (call) {
        call.state = call.state === "denied" ? "denied" : state;
        call.text = call.text === "" ? text : `${call.text}\n${text}`;
        call.cut += s.cut ?? 0;
      } else {
        addCall(entries, { ...head, tool: s.tool ?? "result", input: s.input, state, text, cut: s.cut ?? 0 });
      }
      return;
    }
    case "question":
    case "answer":
    case "report":
      entries.push({ type: s.kind, ...head, text, state: s.state ?? "" });
      return;
    case "check":
      entries.push({ type: "check", ...head, command: s.command ?? "", passed: s.failed !== true && (s.exit ?? 0) === 0 && s.timed_out !== true, text, took: s.took ?? "" });
      return;
    default:
      if (!saysQuestion(entries, s)) {
        entries.push({ type: "event", ...head, ...eventOf(s) });
      }
  }
}

const plain = (text: string) => text.replace(/\s+/g, " ").trim();

/** Whether a prompt only hands over the answer that stands above it. */
function saysAnswer(entries: readonly Entry[], prompt: string): boolean {
  const last = entries.findLast((e) => e.type === "answer");
  return last?.type === "answer" && /^\s*<message (?![^>]*\bid=)[^>]*\bre="/.test(prompt) && readable(prompt).endsWith(last.text.trim());
}

/** Whether a state only says that the question above it waits. */
function saysQuestion(entries: readonly Entry[], s: Said): boolean {
  const last = entries.at(-1);
  const text = plain(s.text ?? "").replace(/…$/, "");
  return s.kind === "status" && s.state === "needs input" && text !== "" && last?.type === "question" && plain(last.text).replaceAll(": answer it in its pane", ":").includes(text.replace(/^asked \S+: /, ""));
}

function addCall(entries: Entry[], call: Call): void {
  const last = entries.at(-1);
  if (last?.type === "calls") {
    entries[entries.length - 1] = { ...last, calls: [...last.calls, call] };
  } else {
    entries.push({ type: "calls", key: call.key, at: call.at, calls: [call] });
  }
}

function eventOf(s: Said): { title: string; text: string; bad: boolean } {
  const text = s.text ?? "";
  const state = s.state ?? "";
  switch (s.kind) {
    case "session":
      return { title: `The program's conversation ${state === "resumed" ? "goes on" : state === "ended" ? "ended" : "began"}`, text: s.exit !== undefined && s.exit !== 0 ? `exit ${s.exit}` : "", bad: (s.exit ?? 0) !== 0 };
    case "subagent":
      return { title: `A sub-agent ${state === "ended" ? "ended" : "began"}`, text, bad: false };
    case "request_failed":
      return { title: "A call of the model failed", text, bad: true };
    case "interrupted":
      return { title: "A person interrupted the turn", text, bad: false };
    case "compacted":
      return { title: "A summary replaced the conversation", text, bad: false };
    case "limit":
      return { title: "The account reached a limit", text, bad: true };
    case "status":
      return { title: state, text, bad: false };
    case "end":
      return { title: state === "" ? "The attempt ended" : state, text, bad: s.failed === true };
    default:
      return { title: "cmux", text, bad: false };
  }
}

/** Merges new entries into the existing ones, by seq, each once. */
export function join(was: readonly Said[], come: readonly Said[]): Said[] {
  const last = was.at(-1)?.seq ?? 0;
  const sorted = [...come].sort((a, b) => a.seq - b.seq);
  if ((sorted[0]?.seq ?? Number.POSITIVE_INFINITY) > last) {
    return [...was, ...sorted];
  }
  const bySeq = new Map<number, Said>();
  for (const s of [...was, ...sorted]) {
    bySeq.set(s.seq, s);
  }
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq);
}
