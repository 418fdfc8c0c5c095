/*
 * The page's view of the log as a pure state machine. Its input are messages and the state of
 * the connection; its output is the next state and the effects. It knows no socket, no
 * clock and no React.
 */
import type { Frame, From, Message } from "@/live/protocol";

/** How many of the newest events are kept. Older ones are asked of the server. */
export const kept = 2000;

/** The longest text of one event that is kept, in characters; a longer one is asked of the server. */
export const keptText = 8000;

export type Phase =
  | "connecting" // no connection yet
  | "catching up" // what was missed comes in
  | "live"
  | "silent" // it was, and the server answers nothing
  | "offline"; // the connection was lost

export interface Log {
  phase: Phase;
  epoch: string; // empty: nothing was seen yet
  seq: number; // of the last event that was seen
  newest: number; // of the newest that the server has, as far as is known
  instance: string; // of the server
  recent: readonly Frame[]; // the newest events that are in the log, in order, at most `kept`
  heartbeat: Frame | undefined; // the last one
  unfinished: Readonly<Record<string, Unfinished>>; // what members of rooms are writing, by agent
  lost: number; // times that the connection was lost
}

/** What an agent has written of a text so far. */
export interface Unfinished {
  text: string; // the end of it
  cut: boolean; // there is more before it
  since: string; // when its text before this one was complete, or its life began
}

export type Input =
  | { type: "message"; message: Message }
  | { type: "lost" } // the connection ended
  | { type: "silent" } // it stands, and an answer is missing
  | { type: "connecting" };

/** The effects: `send` this, `fold` these events in order, `reload` all lists. */
export interface Effects {
  send?: From;
  events: readonly Frame[];
  reload: boolean;
}

export const nothing: Log = {
  phase: "connecting",
  epoch: "",
  seq: 0,
  newest: 0,
  instance: "",
  recent: [],
  heartbeat: undefined,
  unfinished: {},
  lost: 0,
};

const none: Effects = { events: [], reload: false };

export function step(log: Log, input: Input): [Log, Effects] {
  switch (input.type) {
    case "connecting":
      return [log.phase === "offline" ? log : { ...log, phase: "connecting" }, none];
    case "silent":
      return [log.phase === "live" || log.phase === "catching up" ? { ...log, phase: "silent" } : log, none];
    case "lost":
      return [{ ...log, phase: "offline", lost: log.lost + 1, unfinished: {} }, none];
    case "message":
      return take(log, input.message);
  }
}

function take(log: Log, m: Message): [Log, Effects] {
  switch (m.type) {
    case "hello": {
      const epoch = m.epoch ?? "";
      const next: Log = { ...log, phase: "catching up", newest: m.seq, instance: m.instance ?? "", unfinished: {} };
      if (log.epoch === "") {
        // Lists that were asked for before this may miss what came in between.
        return [{ ...next, epoch, seq: m.seq }, { send: from(epoch, m.seq), events: [], reload: true }];
      }
      return [next, { ...none, send: from(log.epoch, log.seq) }];
    }
    case "events":
      return fold(log, m.events);
    case "live":
      return [{ ...log, phase: "live", newest: Math.max(log.seq, m.seq), seq: Math.max(log.seq, m.seq) }, none];
    case "reload": {
      const epoch = m.epoch ?? "";
      const next: Log = { ...log, phase: "catching up", epoch, seq: m.seq, newest: m.seq, recent: [], unfinished: {} };
      return [next, { send: from(epoch, m.seq), events: [], reload: true }];
    }
    case "behind":
      return [{ ...log, phase: "catching up", newest: Math.max(log.newest, m.seq), unfinished: {} }, { ...none, send: from(log.epoch, log.seq) }];
    case "error":
      return [log, none];
  }
}

/** Events come once and in order: what was seen already is left out. */
function fold(log: Log, events: readonly Frame[]): [Log, Effects] {
  let { seq, heartbeat, unfinished } = log;
  const fresh: Frame[] = [];
  const logged: Frame[] = [];
  for (const e of events) {
    if (e.seq === undefined || e.seq === 0) {
      if (e.event === "heartbeat_update") {
        heartbeat = e;
      } else if (e.event === "room_delta") {
        unfinished = written(unfinished, e);
      }
      fresh.push(e);
      continue;
    }
    if (e.seq > seq) {
      seq = e.seq;
      fresh.push(e);
      logged.push(light(e));
    }
  }
  if (fresh.length === 0) {
    return [log, none];
  }
  const recent = logged.length === 0 ? log.recent : [...log.recent, ...logged].slice(-kept);
  return [{ ...log, seq, newest: Math.max(log.newest, seq), heartbeat, unfinished, recent }, { events: fresh, reload: false }];
}

/** What is being written after a piece. A text that became complete stays: who shows it knows when they have it. */
function written(was: Log["unfinished"], { source = "", name = "", data }: Frame): Log["unfinished"] {
  const agent = `${source.replace("room:", "")}.${name}`;
  const { text = "", cut = false, since = "" } = (data ?? {}) as Partial<Unfinished>;
  if (text !== "") {
    return { ...was, [agent]: { text, cut, since } };
  }
  if (was[agent] === undefined || was[agent].since !== since) {
    return was;
  }
  return Object.fromEntries(Object.entries(was).filter(([other]) => other !== agent));
}

/** An event as it is kept: each of 2,000 may come with a MB. Of one that is cut, its short fields stay. */
function light(e: Frame): Frame {
  if (weight(e.data, keptText) <= keptText) {
    return e;
  }
  const short: Record<string, unknown> = {};
  if (typeof e.data === "object" && e.data !== null && !Array.isArray(e.data)) {
    let room = keptText;
    for (const [key, value] of Object.entries(e.data)) {
      // Copied: what is cut off a text may hold the whole of it.
      const text: unknown = typeof value === "string" ? JSON.parse(JSON.stringify(value.slice(0, 400))) : value;
      const size = weight(text, room) + key.length;
      if (size <= room) {
        room -= size;
        short[key] = text;
      }
    }
  }
  return { ...e, data: short, cut: true };
}

/** How much text there is in a value; from `most` on it is not counted further. */
function weight(value: unknown, most: number): number {
  if (typeof value === "string") {
    return value.length;
  }
  if (typeof value !== "object" || value === null) {
    return 1;
  }
  let sum = 0;
  for (const [key, one] of Object.entries(value)) {
    sum += key.length + weight(one, most - sum);
    if (sum > most) {
      break;
    }
  }
  return sum;
}

function from(epoch: string, seq: number): From {
  return { type: "from", epoch, seq };
}

/** How many events are missing until the page is as new as the server, as far as is known. */
export function behind(log: Log): number {
  return Math.max(0, log.newest - log.seq);
}
