import { decisionsOf } from "@/rooms/decisions";
import type { Member, Order, Wait } from "@/rooms/rooms";

/** What the page offers for what a room waits for. */
export type Way =
  | { type: "order"; label: string; order: Order }
  | { type: "answer"; name: string; agent: string }
  | { type: "page"; label: string; to: string } // that does it
  | { type: "undo"; incident: string }
  | { type: "told"; command: string } // the command does all of it
  | { type: "command"; command: string }; // the page has nothing for it

/** The buttons for what a room waits for. */
export function waysOf(wait: Wait, members: readonly Member[], room: string): readonly Way[] {
  const agent = members.find((m) => m.name === wait.who)?.agent ?? "";
  switch (wait.way) {
    case "order":
      return wait.do.map((act) => ({ type: "order", label: labelOf(act, wait), order: { do: act, ...(wait.who !== "" && { names: [wait.who] }) } }));
    case "answer":
      return [{ type: "answer", name: wait.who, agent }];
    case "terminal":
      return [{ type: "page", label: `Open the terminal of ${wait.who}`, to: `/agents/${encodeURIComponent(agent)}?tab=terminal` }];
    case "decision":
      return [{ type: "page", label: "Decide", to: decisionsOf(room) }];
    case "undo":
      return [{ type: "undo", incident: wait.incident ?? "" }];
    case "card":
      return cardOf(wait.try) === undefined ? [{ type: "told", command: wait.try }] : [{ type: "page", label: "Open the card", to: `/rooms/${encodeURIComponent(room)}?card=${encodeURIComponent(cardOf(wait.try) ?? "")}` }];
    case "command":
      return [{ type: "command", command: wait.try }];
  }
}

/** The card that a command is about. */
function cardOf(command: string): string | undefined {
  return /^cmux cards show (\S+)/.exec(command)?.[1];
}

function labelOf(act: Order["do"], { who, try: command }: Wait): string {
  switch (act) {
    case "continue":
      return "Continue the round";
    case "resume":
      return command.startsWith("cmux rooms open ") ? "Start the monitor" : "Resume"; // each order starts it, and this one changes nothing else
    case "wake":
      return `Wake ${who}`;
    case "skip":
      return `Skip ${who}`;
    case "stop":
      return `Stop ${who}`;
    case "wait":
      return "Give it more time";
    default:
      return `${act} ${who}`;
  }
}
