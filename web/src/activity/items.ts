import type { Api } from "@/api/client";
import type { Said } from "@/conversation/group";
import { summary } from "@/conversation/input";
import { split, type Logged } from "@/activity/story";
import type { Frame } from "@/live/protocol";
import type { Tone } from "@/ui/label";

/** Something that happened, from the log or live. */
export interface Item {
  seq: number;
  at: string;
  source: string; // mailbox, tasks, journal, incidents, audit, agent:NAME, room:NAME, run:ID/NODE
  kind: string;
  who: string;
  text: string;
  tone: Tone;
}

export interface Filter {
  source: string; // a source, or the beginning of several: it ends in : or /
  kind: string; // several with commas
}

/** An event that came live, as the log has it. */
export function loggedOf(f: Frame): Logged {
  return { seq: f.seq ?? 0, at: f.at, source: f.source ?? "", kind: f.kind ?? f.event, body: f.data };
}

export function ofFrame(f: Frame): Item {
  return ofEvent(loggedOf(f));
}

export function ofEvent({ seq, at, source, kind, body }: Logged): Item {
  const b = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  const text = (...keys: string[]) => {
    for (const k of keys) {
      const v = b[k];
      if (typeof v === "string" && v !== "") {
        return v;
      }
    }
    return "";
  };
  const join = (...parts: string[]) => parts.filter((p) => p !== "").join(" ");
  const failed = b.failed === true || text("refused", "denied") !== "";
  const [area, rest] = split(source);
  let said: string;
  let who: string;
  switch (area) {
    case "mailbox":
      who = text("from", "by");
      said = join(text("to") === "" ? "" : `to ${text("to")}:`, text("subject", "state", "why", "id"), text("why"));
      break;
    case "tasks":
      who = text("by");
      said = join(text("task"), text("op"), text("to"), text("agent"), text("title", "reason"));
      break;
    case "room":
      who = text("by", "member", "name");
      said = join(`${rest}:`, text("to") === "" ? "" : `to ${text("to")}:`, text("do", "how", "state"), text("text", "why"));
      break;
    case "incidents":
      who = text("by");
      said = join(text("incident"), text("op"), text("title", "text", "outcome"));
      break;
    case "journal":
      who = text("by");
      said = text("title", "text");
      break;
    case "audit":
      who = text("by", "agent_name");
      said = join(text("order", "tool_name"), text("about", "input_summary"), text("refused", "denied", "result"));
      break;
    default:
      who = rest.slice(rest.indexOf("/") + 1); // of a run's node its name: that of the run says little
      said = kind === "tool_use" ? join(text("tool"), summary(b.input)) : join(text("state"), text("command"), text("text", "message", "detail"));
  }
  return { seq, at, source, kind, who, text: said.replace(/\s+/g, " ").trim().slice(0, 400), tone: failed ? "bad" : toneOfKind(kind) };
}

/** The event of a conversation that stands in a line of the log; undefined: it is of something else. What a line has of another type is left out. */
export function saidOf(e: Api<"StoreEvent">): Said | undefined {
  if (!/^(agent|run):/.test(e.source) || typeof e.body !== "object" || e.body === null) {
    return undefined;
  }
  const b = e.body as Record<string, unknown>;
  const said: Record<string, unknown> = { seq: e.seq, at: e.at, kind: e.kind, node: "", attempt: 0, input: b.input };
  for (const key of ["text", "message", "tool", "tool_id", "state", "id", "command", "took", "until"]) {
    said[key] = typeof b[key] === "string" ? b[key] : undefined;
  }
  for (const key of ["exit", "cut"]) {
    said[key] = typeof b[key] === "number" ? b[key] : undefined;
  }
  for (const key of ["failed", "timed_out"]) {
    said[key] = b[key] === true;
  }
  return said as Said;
}

const tones: Readonly<Record<string, Tone>> = {
  report: "ok",
  end: "ok",
  question: "warn",
  denied: "bad",
  request_failed: "bad",
  limit: "warn",
  fenced: "warn",
  interrupted: "warn",
  hand_back: "warn",
  tool_use: "info",
  message: "info",
};

function toneOfKind(kind: string): Tone {
  return tones[kind] ?? "muted";
}

export function passes(i: Pick<Logged, "source" | "kind">, f: Filter): boolean {
  const source = f.source === "" || i.source === f.source || (/[:/]$/.test(f.source) && i.source.startsWith(f.source));
  return source && (f.kind === "" || f.kind.split(",").includes(i.kind));
}

/** The newest first: what came live in front of what was asked for up to `head`. */
export function feed<T extends { seq: number }>(live: readonly T[], asked: readonly T[], head: number): T[] {
  return [...live.filter((i) => i.seq > head).reverse(), ...asked];
}

export interface Lane {
  source: string;
  label: string;
  total: number;
  cells: readonly number[]; // events in each part of the time
}

/** What a lane is called: the agent, or the node with the run that it is of. */
function laneOf(source: string, runs: (id: string) => string | undefined): string {
  const [area, rest] = split(source);
  const at = rest.indexOf("/");
  return area === "run" && at > 0 ? `${rest.slice(at + 1)} in ${runs(rest.slice(0, at)) ?? rest.slice(0, at)}` : rest || source;
}

/** How much happened where and when: a lane for each source, the busiest first. */
export function lanes(items: readonly Pick<Logged, "at" | "source">[], parts: number, most: number, runs: (id: string) => string | undefined): { lanes: Lane[]; from: number; to: number } {
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (const i of items) {
    const at = Date.parse(i.at);
    from = Math.min(from, at);
    to = Math.max(to, at);
  }
  if (from > to) {
    return { lanes: [], from: 0, to: 0 };
  }
  const span = Math.max(1, to - from);
  const all = new Map<string, number[]>();
  for (const i of items) {
    let cells = all.get(i.source);
    if (!cells) {
      cells = Array.from({ length: parts }, () => 0);
      all.set(i.source, cells);
    }
    const at = Math.min(parts - 1, Math.floor(((Date.parse(i.at) - from) / span) * parts));
    cells[at] = (cells[at] ?? 0) + 1;
  }
  const sorted = [...all].map(([source, cells]) => ({ source, label: laneOf(source, runs), cells, total: cells.reduce((a, b) => a + b, 0) }));
  sorted.sort((a, b) => b.total - a.total || a.source.localeCompare(b.source));
  return { lanes: sorted.slice(0, most), from, to };
}
