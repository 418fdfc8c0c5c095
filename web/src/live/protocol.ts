/** An event as the server sends it (docs/api.md, Live events). */
export interface Frame {
  event: string;
  seq?: number; // missing: it is not in the log
  at: string;
  source?: string;
  kind?: string;
  name?: string;
  data: unknown;
  cut?: boolean;
}

/** A message of the server's. */
export type Message =
  | { type: "events"; events: Frame[] }
  | { type: "hello" | "live" | "reload" | "behind"; epoch?: string; seq: number; instance?: string }
  | { type: "error"; detail?: string };

/** What the page says: the last event that it saw. */
export interface From {
  type: "from";
  epoch: string;
  seq: number;
}

const types = new Set(["events", "hello", "live", "reload", "behind", "error"]);

/** The message in a text; undefined: it is not a message of this server. */
export function parse(text: string): Message | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) {
    return undefined;
  }
  const { type, events } = value as { type?: unknown; events?: unknown };
  if (typeof type !== "string" || !types.has(type) || (type === "events" && !Array.isArray(events))) {
    return undefined;
  }
  return value as Message;
}
