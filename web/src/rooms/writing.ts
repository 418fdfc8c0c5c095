import type { Said } from "@/conversation/group";
import type { Unfinished } from "@/live/fold";

/** The text that an agent is writing; empty: it writes none, or its conversation, which may not be known yet, has it whole. */
export function writing(piece: Unfinished | undefined, items: readonly Pick<Said, "kind" | "at">[] | undefined): string {
  if (piece === undefined || items === undefined) {
    return "";
  }
  const last = items.findLast((s) => s.kind === "text");
  if (last !== undefined && Date.parse(last.at) > Date.parse(piece.since)) {
    return "";
  }
  return (piece.cut ? "…" : "") + piece.text;
}
