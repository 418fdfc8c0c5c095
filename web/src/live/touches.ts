import type { Frame } from "@/live/protocol";

const ofMessage: readonly string[] = ["/api/messages$", "/api/messages/inbox", "/api/messages/{id}", "/api/needs$", "/api/autonomy", "/api/agents"];

const ofRoom: readonly string[] = ["/api/rooms$", "/api/rooms/{room}$", "/api/rooms/{room}/messages", "/api/rooms/{room}/log", "/api/rooms/{room}/decisions", "/api/rooms/{room}/plan", "/api/rooms/{room}/check", "/api/memory/learn", "/api/cards/", "/api/needs"];

/**
 * Which routes answer differently after an event (docs/api.md, Live events), by the
 * beginning of their path; with $ at the end that route alone. {id}, {node}, {name}
 * and {room} are those of the event's source; the {id} of a message is the event's name.
 */
export const byEvent: Readonly<Record<string, readonly string[]>> = {
  agent_event: ["/api/agents$", "/api/agents/{name}", "/api/budget", "/api/needs"],
  agent_thought: ["/api/thoughts", "/api/agents/{name}/conversation"],
  session_created: ["/api/agents$", "/api/agents/{name}", "/api/sessions"],
  session_terminated: ["/api/agents$", "/api/agents/{name}", "/api/sessions"],
  agent_archived: ["/api/agents", "/api/archives", "/api/teams"],
  new_message: ofMessage,
  user_message: ofMessage,
  webhook_received: ofMessage,
  message_update: ofMessage,
  task_event: ["/api/tasks", "/api/cards", "/api/needs", "/api/agents", "/api/report", "/api/autonomy", "/api/rooms"],
  journal_entry: ["/api/journal"],
  incident: ["/api/incidents", "/api/recover", "/api/needs", "/api/report", "/api/rooms"],
  run_event: ["/api/runs/{id}/nodes/{node}", "/api/thoughts", "/api/needs", "/api/budget"],
  room_message: ofRoom,
  room_turn: ofRoom,
  room_round: ofRoom,
  room_order: ofRoom,
  room_member: ofRoom,
  room_decision: ofRoom,
  room_unverified: ofRoom,
  room_delta: [], // it says all that it changes
  heartbeat_update: ["/api/heartbeat", "/api/agents", "/api/rooms$", "/api/rooms/{room}$"],
  audit_event: ["/api/projects", "/api/sessions", "/api/teams", "/api/maintenance", "/api/onboarding"],
};

/** What an event that no row names may change. */
const unknown: readonly string[] = ["/api/"];

export function touches(f: Frame): readonly string[] {
  if (f.event === "changed") {
    return routes(f.data);
  }
  const about = aboutOf(f);
  return byEvent[f.event]?.map((route) => filled(route, about).join("/")).concat(ofMember(f)) ?? unknown;
}

/** A room shows what its members do, who are agents called ROOM.NAME. */
function ofMember({ source = "" }: Frame): string[] {
  const [, room] = /^agent:([^.]+)\../.exec(source) ?? [];
  return room === undefined ? [] : ["/api/rooms$", `/api/rooms/${room}$`];
}

/** What an event is about, as routes call it: its source is run:ID/NODE, agent:NAME, room:NAME or mailbox. */
function aboutOf({ source = "", name }: Frame): Readonly<Record<string, string>> {
  if (source === "mailbox") {
    return name === undefined || name === "" ? {} : { id: name };
  }
  const [, run, node] = /^run:([^/]+)\/(.+)$/.exec(source) ?? [];
  if (run !== undefined && node !== undefined) {
    return { id: run, node };
  }
  if (source.startsWith("room:")) {
    return { room: source.slice("room:".length) };
  }
  return source.startsWith("agent:") ? { name: source.slice("agent:".length) } : {};
}

/** The words of a path, with what is known put in place of the words in braces. */
function filled(path: string, known: Readonly<Record<string, unknown>>): string[] {
  return path.split("/").map((word) =>
    word.replace(/^\{(.+)\}/, (braces, name: string) => {
      const value = known[name];
      return typeof value === "string" ? value : braces;
    }),
  );
}

/** A query, as its key names it (api/client.ts). */
export type Key = readonly unknown[];

/** Whether a query asks for one of the routes that answer differently. */
export function touched(key: Key, beginnings: Iterable<string>): boolean {
  const [method, path, init] = key;
  if (method !== "get" || typeof path !== "string") {
    return false;
  }
  const template = path.split("/");
  const words = filled(path, pathParameters(init));
  for (const b of beginnings) {
    const alone = b.endsWith("$");
    const begin = b.replace(/[/$]$/, "").split("/");
    if ((alone ? begin.length === words.length : begin.length <= words.length) && begin.every((w, i) => means(w, words[i] ?? "", isParameter(template[i])))) {
      return true;
    }
  }
  return false;
}

function pathParameters(init: unknown): Readonly<Record<string, unknown>> {
  const { params } = (typeof init === "object" && init !== null ? init : {}) as { params?: { path?: Record<string, unknown> } };
  return params?.path ?? {};
}

/** Whether a word of a route may mean what a query asks for: of a run a part of its id will do. */
function means(word: string, asked: string, parameter: boolean): boolean {
  return word === asked || isParameter(word) || (parameter && (isParameter(asked) || word.startsWith(asked) || word.endsWith(asked)));
}

function isParameter(word: string | undefined): boolean {
  return word?.startsWith("{") === true;
}

/** What a frame `changed` names: the beginnings of the routes that answer differently by now. */
function routes(data: unknown): readonly string[] {
  const named = typeof data === "object" && data !== null && "routes" in data ? data.routes : undefined;
  return Array.isArray(named) ? named.filter((r): r is string => typeof r === "string") : unknown;
}
