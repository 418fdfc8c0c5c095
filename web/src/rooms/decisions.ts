import { hooks, type Api } from "@/api/client";
import type { Tone } from "@/ui/label";

export type Decision = Api<"RoomDecision">;

/** What was proposed in a room, the oldest first. */
export function useDecisions(room: string) {
  return hooks.useQuery("get", "/api/rooms/{room}/decisions", { params: { path: { room }, query: { limit: 1000 } } });
}

/** The link to the decisions of a room. */
export function decisionsOf(room: string): string {
  return `/rooms/${encodeURIComponent(room)}?decisions`;
}

/** Who somebody is, within a sentence. */
export function nameOf(who: string): string {
  return who === "user" ? "you" : who;
}

/** Where a proposal stands, in words and a tone. */
export function standOf({ state, decided, pending }: Decision): { label: string; tone: Tone } {
  switch (state) {
    case "decided":
      return { label: `${decided?.verdict ?? "decided"} by ${decided === undefined ? "" : nameOf(decided.by)}`, tone: decided?.verdict === "rejected" ? "bad" : "ok" };
    case "answered":
      return { label: "waits for your decision", tone: "warn" };
    case "asked":
      return { label: `${pending.join(", ")} asked`, tone: "info" };
    case "proposed":
      return { label: "proposed", tone: "muted" };
  }
}
