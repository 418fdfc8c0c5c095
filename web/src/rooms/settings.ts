/*
 * The settings of a room as a person types them, as data. It knows no React.
 */
import type { Api } from "@/api/client";
import { tokensOf, type Policy, type Room } from "@/rooms/rooms";

export type Settings = Room["room"]["settings"];

/** What is typed. */
export interface Form {
  topic: string;
  policy: Policy;
  moderator: string;
  judge: string;
  decides: boolean; // the moderator
  blind: boolean;
  turns: string;
  rebuttals: string;
  round: string; // tokens; empty: no bound
  day: string;
  tagged: boolean;
  idle: string; // seconds
  parse: string;
  send: string;
  hard: string;
  stops: boolean;
}

/** A number of tokens in the shortest way in which a person can type it. */
function tokensText(n = 0): string {
  return n === 0 ? "" : n % 1_000_000 === 0 ? `${n / 1_000_000}M` : n % 1000 === 0 ? `${n / 1000}k` : String(n);
}

export function formOf(s: Settings): Form {
  return {
    topic: s.topic ?? "",
    policy: s.policy,
    moderator: s.moderator ?? "",
    judge: s.judge ?? "",
    decides: s.decide === "moderator",
    blind: s.blind,
    turns: String(s.turns),
    rebuttals: String(s.rebuttals ?? 0),
    round: tokensText(s.tokens?.round),
    day: tokensText(s.tokens?.day),
    tagged: s.tagged ?? false,
    idle: String(s.timeouts.idle),
    parse: String(s.timeouts.parse),
    send: String(s.timeouts.send),
    hard: String(s.timeouts.hard),
    stops: s.timeouts.stops ?? false,
  };
}

const whole = (text: string, least: number) => /^\d{1,9}$/.test(text.trim()) && Number(text) >= least;
const budget = (text: string) => text.trim() === "" || tokensOf(text) !== undefined;

/** What is wrong, by field. */
export function faultsOf(f: Form): Partial<Record<keyof Form, string>> {
  const faults: Partial<Record<keyof Form, string>> = {};
  if (!whole(f.turns, 1)) {
    faults.turns = "This must be a whole number, at least 1.";
  }
  for (const key of ["rebuttals", "idle", "parse", "send", "hard"] as const) {
    if (!whole(f[key], 0)) {
      faults[key] = "This must be a whole number, or 0.";
    }
  }
  for (const key of ["round", "day"] as const) {
    if (!budget(f[key])) {
      faults[key] = "This is no number of tokens.";
    }
  }
  if (f.policy === "moderator" && f.moderator === "") {
    faults.moderator = "This policy needs a moderator.";
  }
  if (f.decides && f.moderator === "") {
    faults.decides = "There is no moderator.";
  }
  if (f.policy === "debate" && f.judge === "") {
    faults.judge = "This policy needs a judge.";
  }
  return faults;
}

/** Whether a field stands for something else than in another form. */
export function differs(key: keyof Form, a: Form, b: Form): boolean {
  const meant = (f: Form) => (key === "round" || key === "day" ? (tokensOf(f[key]) ?? 0) : typeof f[key] === "string" ? f[key].trim() : f[key]);
  return meant(a) !== meant(b);
}

/** What the person changed since they began to type; what they did not touch is not sent. Undefined: nothing. */
export function changesOf(was: Form, now: Form): Api<"RoomChange"> | undefined {
  const changed = (Object.keys(now) as (keyof Form)[]).filter((key) => differs(key, was, now));
  if (changed.length === 0) {
    return undefined;
  }
  const has = (key: keyof Form) => changed.includes(key);
  const c: Api<"RoomChange"> = {};
  if (has("topic")) c.topic = now.topic.trim();
  if (has("policy")) c.policy = now.policy;
  if (has("moderator")) c.moderator = now.moderator;
  if (has("judge")) c.judge = now.judge;
  if (has("decides")) c.decide = now.decides ? "moderator" : "";
  if (has("blind")) c.blind = now.blind;
  if (has("tagged")) c.tagged = now.tagged;
  if (has("turns")) c.turns = Number(now.turns);
  if (has("rebuttals")) c.rebuttals = Number(now.rebuttals);
  if (has("round") || has("day")) c.tokens = { round: tokensOf(now.round) ?? 0, day: tokensOf(now.day) ?? 0 };
  for (const key of ["idle", "parse", "send", "hard"] as const) {
    if (has(key)) c.timeouts = { ...c.timeouts, [key]: Number(now[key]) };
  }
  if (has("stops")) c.timeouts = { ...c.timeouts, stops: now.stops };
  return c;
}

/** How the server calls the settings of the form. */
const keys: Readonly<Record<keyof Form, string>> = {
  topic: "topic",
  policy: "policy",
  moderator: "moderator",
  judge: "judge",
  decides: "decide",
  blind: "blind",
  turns: "turns",
  rebuttals: "rebuttals",
  round: "tokens",
  day: "tokens-day",
  tagged: "share",
  idle: "timeout",
  parse: "parse-timeout",
  send: "send-timeout",
  hard: "hard-timeout",
  stops: "on-parse",
};

/** Where a setting is inherited from, in words; empty: it is not known yet. */
export function sourceOf(key: keyof Form, all: readonly Api<"RoomSetting">[]): string {
  switch (all.find((s) => s.key === keys[key])?.inherited_from) {
    case "config.yml":
      return ".cmux/config.yml";
    case "built-in":
      return "built in";
    default:
      return "";
  }
}
