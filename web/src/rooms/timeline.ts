import { calledBy, type Line, type Message } from "@/rooms/rooms";

/** What is seen as one piece of the talk. */
export type Entry =
  | { type: "message"; key: string; message: Message; read: readonly string[] } // read: who has read up to it, and no further
  | { type: "blind"; key: string; messages: readonly Message[]; read: readonly string[] } // first answers to one question, beside each other
  | { type: "passed"; key: string; at: string; names: readonly string[] }
  | { type: "ended"; key: string; at: string; member: string; turn: string; how: string; why: string } // a turn without an answer
  | { type: "round"; key: string; at: string; round: number; state: string; why: string; used: number; turns?: number; estimate?: number }
  | { type: "note"; key: string; at: string; text: string };

interface Round {
  turns: number;
  estimate: number;
}

/** Messages and the facts between them, in their order. Of what happened before the oldest line nothing is known. Members have marks of how far they have read. */
export function timeline(messages: readonly Message[], lines: readonly Line[], members: readonly string[] = []): Entry[] {
  const entries: Entry[] = [];
  const marks = readers(lines, members);
  const group = groups(lines);
  const beside = new Map<string, number>(); // of a group: where its entry is
  const rounds = new Map<number, Round>();
  const say = (m: Message) => {
    if (m.by === "cmux" && m.to === "" && m.wakes.length === 0 && m.aside === "" && !m.text.includes("\n")) {
      entries.push({ type: "note", key: `m${m.n}`, at: m.at, text: m.text }); // such as: a card has moved
      return;
    }
    const of = m.turn === "" || m.text === "" ? undefined : group.get(m.turn);
    const at = of === undefined ? undefined : beside.get(of);
    const there = at === undefined ? undefined : entries[at];
    if (of === undefined || at === undefined || (there?.type !== "message" && there?.type !== "blind")) {
      if (of !== undefined) {
        beside.set(of, entries.length);
      }
      entries.push({ type: "message", key: `m${m.n}`, message: m, read: marks.get(m.n) ?? [] });
      return;
    }
    // The key stays that of the first: it was there alone a moment ago.
    entries[at] = { type: "blind", key: there.key, messages: [...(there.type === "blind" ? there.messages : [there.message]), m], read: [...there.read, ...(marks.get(m.n) ?? [])] };
  };
  const note = (l: Line, text: string) => entries.push({ type: "note", key: `n${l.n}`, at: l.at, text });
  const tell = (l: Line) => {
    const round = l.round ?? 0;
    switch (l.kind) {
      case "round":
        if (l.state === "began") {
          rounds.set(round, rounds.get(round) ?? { turns: 0, estimate: 0 });
        } else {
          entries.push({ type: "round", key: `r${l.n}`, at: l.at, round, state: l.state ?? "", why: l.why ?? "", used: l.used ?? 0, ...rounds.get(round) });
        }
        break;
      case "turn": {
        const known = rounds.get(round);
        if (known !== undefined) {
          rounds.set(round, { turns: known.turns + 1, estimate: known.estimate + (l.estimate ?? 0) });
        }
        break;
      }
      case "over":
        end(entries, l);
        break;
      case "joined": {
        const last = entries.at(-1);
        const who = [l.agent, l.role].filter((w) => w !== undefined && w !== "").join(", ");
        const text = `${l.name ?? ""} (${who}) joined`;
        if (last?.type === "note" && last.text.endsWith(" joined")) {
          entries[entries.length - 1] = { ...last, text: `${last.text.slice(0, -" joined".length)}, ${text}` };
        } else {
          note(l, text);
        }
        break;
      }
      case "left":
        note(l, `${l.name ?? ""} left${l.why === undefined || l.why === "" ? "" : `: ${l.why}`}`);
        break;
      case "set":
        note(l, "The settings changed");
        break;
      case "dropped":
        note(l, `#${l.message ?? 0} did not go to ${l.member ?? ""}: ${l.why ?? ""}`);
        break;
      case "order":
        note(l, ordered(l));
        break;
      case "decided":
        note(l, `${calledBy(l.by ?? "")} ${l.what ?? "decided"}: ${l.text ?? ""}`);
        break;
    }
  };
  const said = messages.toSorted((a, b) => a.n - b.n);
  let next = 0;
  const sayBefore = (n: number) => {
    for (let m = said[next]; m !== undefined && m.n <= n; m = said[next]) {
      say(m);
      next++;
    }
  };
  for (const l of lines) {
    sayBefore(l.n);
    tell(l);
  }
  sayBefore(Number.POSITIVE_INFINITY);
  return entries;
}

/** By message, the members that have read up to it: a turn gives its member messages. */
function readers(lines: readonly Line[], members: readonly string[]): ReadonlyMap<number, readonly string[]> {
  const last = new Map<string, number>();
  for (const l of lines) {
    if (l.kind === "turn" && l.member !== undefined && members.includes(l.member)) {
      last.set(l.member, Math.max(last.get(l.member) ?? 0, ...(l.messages ?? [])));
    }
  }
  const marks = new Map<number, string[]>();
  for (const name of members) {
    const n = last.get(name);
    if (n !== undefined && n > 0) {
      marks.set(n, [...(marks.get(n) ?? []), name]);
    }
  }
  return marks;
}

/** By turn, the collection of first answers that it belongs to. */
function groups(lines: readonly Line[]): ReadonlyMap<string, string> {
  return new Map(lines.flatMap((l) => (l.kind === "blind" && l.state === "began" ? (l.turns ?? []).map((t) => [t, `b${l.n}`] as const) : [])));
}

/** The end of a turn, where its message does not say all. */
function end(entries: Entry[], l: Line): void {
  const member = l.member ?? "";
  if (l.how === "replied") {
    return;
  }
  if (l.how !== "passed") {
    entries.push({ type: "ended", key: `e${l.n}`, at: l.at, member, turn: l.turn ?? "", how: l.how ?? "", why: l.why ?? "" });
    return;
  }
  const last = entries.at(-1);
  if (last?.type === "passed") {
    entries[entries.length - 1] = { ...last, names: [...last.names, member] };
  } else {
    entries.push({ type: "passed", key: `p${l.n}`, at: l.at, names: [member] });
  }
}

/** An order in words. */
function ordered(l: Line): string {
  const who = l.by === undefined || l.by === "user" ? "You" : l.by;
  const names = (l.names ?? []).join(", ");
  switch (l.do) {
    case "pause":
      return `${who} paused the room`;
    case "resume":
      return `${who} resumed the room`;
    case "stop":
      return names === "" ? `${who} stopped all turns and paused the room` : `${who} stopped ${names}`;
    case "cancel":
      return `${who} cancelled the round`;
    case "continue":
      return `${who} continued the round${(l.count ?? 0) > 0 ? `, at most ${l.count ?? 0} turns a member` : ""}`;
    case "close":
      return `${who} closed the room`;
    case "reopen":
      return `${who} reopened the room`;
    case "skip":
      return `${who} skipped ${names}`;
    case "wake":
      return `${who} woke ${names}`;
    case "wait":
      return `${who} gave ${names} more time`;
    case "decide":
      return `${who} asked the members about a proposal`;
    default:
      return `${who} ordered something`;
  }
}
