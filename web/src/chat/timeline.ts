import type { Api } from "@/api/client";
import { handedOver } from "@/chat/letter";
import { group, type Entry as Spoken, type Said } from "@/conversation/group";

export type Mail = Api<"Mail">;
export type { Said };

/** What is seen as one piece of the time line: a message, or what the agent said or did. */
export type Entry = Spoken | { type: "mail"; key: string; at: string; mail: Mail; mine: boolean };

/**
 * Messages between what an agent was told, thought, said and did, in order of time.
 * `person` is the address whose messages are the reader's own.
 */
export function timeline(said: readonly Said[], mails: readonly Mail[], person = "user"): Entry[] {
  const entries: Entry[] = [];
  // A question that went to a person as a message stands there as what it is.
  const asked = new Set(said.flatMap((s) => (s.kind === "note" ? [askedBy.exec(s.text ?? "")?.[1] ?? ""] : [])));
  const letters = mails.filter((m) => !asked.has(m.id)).sort((a, b) => Date.parse(a.ts) - Date.parse(b.ts) || a.id.localeCompare(b.id));
  let next = 0;
  const lettersUntil = (at: number) => {
    for (let m = letters[next]; m !== undefined && Date.parse(m.ts) <= at; m = letters[next]) {
      entries.push({ type: "mail", key: `m-${m.id}`, at: m.ts, mail: m, mine: m.from === person });
      next++;
    }
  };
  const shown = new Set(mails.map((m) => m.id));
  const told = [...said].sort((a, b) => a.seq - b.seq).map((s) => withoutLetters(s, shown));
  for (const e of group(told, (s) => isNoise(s, shown))) {
    if (e.type !== "attempt") {
      lettersUntil(Date.parse(e.at));
    } else if (entries.length === 0) {
      continue; // that it began goes without saying
    }
    entries.push(e);
  }
  lettersUntil(Number.POSITIVE_INFINITY);
  return entries;
}

const askedBy = /^its question went to \S+ as message ([a-zA-Z0-9-]+)$/;

/** A prompt without the messages that stand in the chat themselves. */
function withoutLetters(s: Said, shown: ReadonlySet<string>): Said {
  if (s.kind !== "prompt" && s.kind !== "hand_back") {
    return s;
  }
  const { ids, rest } = handedOver(s.text ?? "", (id) => shown.has(id));
  return ids.length === 0 ? s : { ...s, text: rest };
}

/** Whether a chat leaves an entry out: an empty prompt, a note about a message that is shown itself, or the begin or end of a turn. */
function isNoise(s: Said, shown: ReadonlySet<string>): boolean {
  if (s.kind === "prompt" || s.kind === "hand_back") {
    return (s.text ?? "").trim() === "";
  }
  if (s.kind === "note") {
    const sent = /^sent message ([a-zA-Z0-9-]+) to /.exec(s.text ?? "")?.[1] ?? askedBy.exec(s.text ?? "")?.[1];
    return sent !== undefined && shown.has(sent);
  }
  return s.kind === "status" && (s.text ?? "") === "" && (s.state === "working" || s.state === "idle");
}

/** Whether an entry is talk between people and agents, and no thought or deed. */
export function isTalk(e: Entry): boolean {
  return e.type === "mail" || e.type === "text" || e.type === "question" || e.type === "answer" || e.type === "report";
}
