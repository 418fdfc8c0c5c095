import { api, hooks, type Api } from "@/api/client";
import { count } from "@/ui/figures";
import type { Tone } from "@/ui/label";

export type Room = Api<"RoomView">;
export type Member = Api<"RoomMember">;
export type Message = Api<"RoomMessage">;
export type Line = Api<"RoomLine">;
export type Wait = Api<"RoomWait">;
export type Order = Api<"RoomOrder">;
export type Policy = Api<"RoomPolicy">;

/** All rooms: those in which something happened last come first. */
export function useRooms() {
  return hooks.useQuery("get", "/api/rooms", { params: { query: { limit: 1000 } } });
}

export function useRoom(room: string) {
  return hooks.useQuery("get", "/api/rooms/{room}", { params: { path: { room } } });
}

/* What a person does in rooms, as functions. */
export const give = {
  begin: (body: Api<"NewRoom">) => api.POST("/api/rooms", { body }),
  say: ({ room, ...body }: { room: string } & Api<"RoomSay">) => api.POST("/api/rooms/{room}/messages", { params: { path: { room } }, body }),
  cost: ({ room, ...body }: { room: string; text: string; to?: string }) => api.POST("/api/rooms/{room}/cost", { params: { path: { room } }, body }),
  order: ({ room, ...body }: { room: string } & Order) => api.POST("/api/rooms/{room}/orders", { params: { path: { room } }, body }),
  decide: ({ room, ...body }: { room: string } & Api<"RoomDecide">) => api.POST("/api/rooms/{room}/decisions", { params: { path: { room } }, body }),
  invite: ({ room, ...body }: { room: string } & Api<"Invited">) => api.POST("/api/rooms/{room}/members", { params: { path: { room } }, body }),
  dismiss: ({ room, name }: { room: string; name: string }) => api.DELETE("/api/rooms/{room}/members/{name}", { params: { path: { room, name } } }),
  plan: (room: string) => api.POST("/api/rooms/{room}/plan", { params: { path: { room } } }),
  run: (room: string, sum: string) => api.POST("/api/rooms/{room}/run", { params: { path: { room }, query: { sum } } }),
  remove: (room: string) => api.DELETE("/api/rooms/{room}", { params: { path: { room } } }),
  undo: (room: string) => api.POST("/api/rooms/{room}/undo", { params: { path: { room } }, body: {} }),
  set: ({ room, ...body }: { room: string } & Api<"RoomChange">) => api.PATCH("/api/rooms/{room}", { params: { path: { room } }, body }),
  answer: ({ room, name, text }: { room: string; name: string; text: string }) => api.POST("/api/rooms/{room}/members/{name}/answer", { params: { path: { room, name } }, body: { text } }),
};

/** A member to be, as the server reads it: KIND[=NAME][:ROLE]. */
export function wanted({ kind, name, role }: { kind: string; name: string; role: string }): string {
  return kind.trim() + (name.trim() === "" ? "" : `=${name.trim()}`) + (role.trim() === "" ? "" : `:${role.trim()}`);
}

/** Who somebody is to the reader. */
export function calledBy(name: string): string {
  return name === "user" ? "You" : name;
}

export const policies: readonly (readonly [Policy, string, string])[] = [
  ["everybody", "Everybody answers, and reacts to the others", "Each member answers you. Then each reads the others and may react, until nobody has anything to add or its turns are used up."],
  ["once", "Everybody answers once", "Each member answers you once, without reaction to the others. It costs least, and is as good for a question with one right answer."],
  ["robin", "One after the other", "Members answer in the order of the list. Each reads those before it."],
  ["mentioned", "Only who is mentioned", "A message wakes whom it mentions with @NAME, and nobody else."],
  ["moderator", "A moderator calls on members", "Your messages go to the moderator, which calls on members with @NAME."],
  ["debate", "A debate with a judge", "The debaters state their positions, answer each other, and the judge proposes a decision."],
];

export function toneOfRoom({ phase, label }: Room["room"]): Tone {
  switch (phase) {
    case "talking":
    case "first answers":
    case "gathering":
      return "info";
    case "waits":
    case "paused":
    case "capped":
    case "cancelling":
      return "warn";
    case "closed":
      return "muted";
    case "at rest":
      return label === "settled" ? "ok" : "muted";
  }
}

const tones: Readonly<Record<Member["state"], Tone>> = {
  guest: "muted",
  off: "muted",
  starting: "info",
  idle: "muted",
  "in turn": "info",
  limited: "warn",
  "needs input": "warn",
  "taken over": "warn",
  down: "bad",
};

export function toneOfMember(m: Member): Tone {
  return tones[m.state];
}

/** The page of what a room is about: task:ID, node:RUN/NAME, or merge: and either of them. */
export function wayTo(about: string): string {
  const [run, node] = about.replace(/^[a-z]+:/, "").split("/", 2);
  return node === undefined ? `/tasks/${encodeURIComponent(run ?? "")}` : `/runs/${encodeURIComponent(run ?? "")}/nodes/${encodeURIComponent(node)}`;
}

/** Whether every word of what was typed is in the room's line. */
export function matches({ room, members }: Room, typed: string): boolean {
  const line = [room.name, room.topic, room.label, room.policy, room.last, ...members.flatMap((m) => [m.name, m.kind, m.role])].join(" ").toLowerCase();
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => line.includes(word));
}

/** How many rooms there are, or are found. */
export function found(seen: number, all: number, typed: string): string {
  return typed.trim() === "" ? count(all, "room") : `${seen} of ${count(all, "room")} ${seen === 1 ? "matches" : "match"}`;
}

/** A number of tokens as a person types it, such as 200k or 1.5M; undefined: the text is no such number. */
export function tokensOf(text: string): number | undefined {
  const [, number, unit] = /^\s*(\d+(?:\.\d+)?)\s*([kKmM]?)\s*$/.exec(text) ?? [];
  if (number === undefined) {
    return undefined;
  }
  const n = Math.round(Number(number) * (unit === "" ? 1 : unit?.toLowerCase() === "k" ? 1000 : 1_000_000));
  return n > 0 ? n : undefined;
}
