import { unframed } from "@/chat/letter";
import type { Said } from "@/conversation/group";
import { summary } from "@/conversation/input";

/** What an agent does at this moment, by the end of its conversation. */
export interface Doing {
  verb: string; // runs a tool, writes, thinks, works on a prompt
  text: string; // one line; may be empty
  since: string;
}

/** What the agent does now; undefined: nothing of this turn is known. */
export function doingNow(items: readonly Said[]): Doing | undefined {
  const ended = new Set<string>();
  for (const s of items.toReversed()) {
    switch (s.kind) {
      case "tool_result":
      case "denied":
        ended.add(s.tool_id ?? "");
        break;
      case "tool_use":
        return ended.has(s.tool_id ?? "") ? { verb: "thinks", text: "", since: items.at(-1)?.at ?? s.at } : { verb: `runs ${s.tool ?? "a tool"}`, text: line(summary(s.input)), since: s.at };
      case "text":
        return { verb: "writes", text: line(s.text ?? ""), since: s.at };
      case "thought":
        return { verb: "thinks", text: line(s.text ?? ""), since: s.at };
      case "prompt":
      case "hand_back":
      case "answer":
        return { verb: "works on", text: line(unframed(s.text ?? ""), "first"), since: s.at };
      case "end":
      case "interrupted":
      case "report":
      case "question":
        return undefined;
      case "status":
        if (s.state === "idle") {
          return undefined; // its turn is over
        }
        if (s.state === "working") {
          return { verb: "works", text: line(s.text ?? ""), since: s.at };
        }
        break;
      default:
        break;
    }
  }
  return undefined;
}

/** The last line of a text that says something, or the first. */
function line(text: string, which: "first" | "last" = "last"): string {
  const lines = text
    .split("\n")
    .map((l) => l.trim())
    .filter((l) => l !== "");
  return lines.at(which === "first" ? 0 : -1) ?? "";
}
