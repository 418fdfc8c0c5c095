import type { Member, Order, Wait } from "@/rooms/rooms";

/** What the page offers for what a room waits for. */
export type Way =
  | { type: "order"; label: string; order: Order }
  | { type: "answer"; name: string; agent: string }
  | { type: "agent"; label: string; to: string } // a page that does it
  | { type: "command"; command: string }; // the page has nothing for it

const page = (agent: string) => `/agents/${encodeURIComponent(agent)}?tab=terminal`;

/** The buttons for what a room waits for, made of the command that the server names. */
export function waysOf({ try: command, who }: Wait, members: readonly Member[]): readonly Way[] {
  const [, group, verb] = /^cmux (rooms|workers) (\S+)/.exec(command) ?? [];
  const agent = members.find((m) => m.name === who)?.agent ?? "";
  const names = { names: [who] };
  switch (`${group ?? ""} ${verb ?? ""}`) {
    case "rooms continue":
      return [{ type: "order", label: "Continue the round", order: { do: "continue" } }];
    case "rooms resume":
      return [{ type: "order", label: "Resume", order: { do: "resume" } }];
    case "rooms open":
      return [{ type: "order", label: "Start the monitor", order: { do: "resume" } }]; // each order starts it, and this one changes nothing else
    case "rooms wake":
      return [{ type: "order", label: `Wake ${who}`, order: { do: "wake", ...names } }];
    case "rooms skip":
      return [{ type: "order", label: `Skip ${who}`, order: { do: "skip", ...names } }];
    case "rooms stop":
      return [
        { type: "order", label: "Give it more time", order: { do: "wait", ...names } },
        { type: "order", label: `Stop ${who}`, order: { do: "stop", ...names } },
      ];
    case "rooms answer":
      return [{ type: "answer", name: who, agent }];
    case "workers attach":
      return [{ type: "agent", label: "Open its terminal", to: page(agent) }];
    case "workers release":
      return [{ type: "agent", label: `Release ${who} in its terminal`, to: page(agent) }];
    default:
      return [{ type: "command", command }];
  }
}

/** What a room waits for, without the command for it: the page has a button. */
export function saidOf({ what }: Wait): string {
  return what.replace(/ \(or: cmux [^)]*\)/, "");
}

/** What waits, but for a missing monitor where the room is paused: to resume it starts the monitor. */
export function shownWaits(waits: readonly Wait[]): readonly Wait[] {
  const paused = waits.some((w) => w.try.startsWith("cmux rooms resume "));
  return paused ? waits.filter((w) => !w.try.startsWith("cmux rooms open ")) : waits;
}
