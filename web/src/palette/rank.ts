/** What the palette finds. */
export interface Findable {
  kind: "page" | "command" | "agent" | "room" | "run" | "node" | "task";
  label: string;
  words?: string; // other names that people use for it
}

/** Words that people use for one another. */
const alike: readonly (readonly string[])[] = [
  ["stop", "cancel", "halt", "abort", "end", "quit"],
  ["remove", "delete", "kill", "destroy", "erase", "rm"],
  ["stop", "kill"],
  ["agent", "worker", "bot"],
  ["add", "create", "make", "new"],
  ["start", "launch", "begin", "run", "execute"],
  ["spawn", "start", "add", "create", "new", "launch", "hire"],
  ["send", "write", "tell", "say", "message"],
  ["retry", "rerun", "again", "redo", "repeat", "restart"],
  ["resume", "continue", "unpause"],
  ["approve", "accept", "allow", "open", "ok"],
  ["override", "skip", "force"],
  ["assign", "give", "hand"],
  ["task", "todo", "job", "ticket", "issue"],
  ["edit", "change", "write", "modify"],
  ["take", "attach", "control"],
  ["find", "search", "grep"],
];

const neighbors = new Map<string, Set<string>>();
for (const group of alike) {
  for (const word of group) {
    const all = neighbors.get(word) ?? new Set();
    group.forEach((w) => all.add(w));
    neighbors.set(word, all);
  }
}

/** Words that say nothing of what is looked for, unless they are all there is. */
const filler = new Set(["a", "an", "the", "my", "to", "of", "for", "me", "please", "i", "want", "how", "do", "s"]);

/** A word without the ending of a plural. */
function stem(word: string): string {
  return word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
}

function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map(stem);
}

/** Whether two words differ by one letter that is missing, added, changed, or swapped with the next. */
export function near(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1 || a === b) {
    return a === b;
  }
  let i = 0;
  while (i < a.length && a[i] === b[i]) {
    i++;
  }
  const rest = (s: string, from: number) => s.slice(from);
  return (
    rest(a, i + 1) === rest(b, i + 1) || // changed
    rest(a, i + 1) === rest(b, i) ||
    rest(a, i) === rest(b, i + 1) ||
    (a[i] === b[i + 1] && a[i + 1] === b[i] && rest(a, i + 2) === rest(b, i + 2))
  );
}

/** How well one typed word fits one word of a thing; 0: not at all. */
function fit(typed: string, word: string, last: boolean): number {
  if (word === typed) {
    return 100;
  }
  if (word.startsWith(typed)) {
    return last ? 85 : 70; // the last word may still be being typed
  }
  if (neighbors.get(typed)?.has(word) === true) {
    return 75;
  }
  if (typed.length >= 3 && word.includes(typed)) {
    return 35;
  }
  return typed.length >= 4 && near(typed, word) ? 25 : 0;
}

const weight: Readonly<Record<Findable["kind"], number>> = { page: 6, command: 4, agent: 4, room: 3, run: 2, node: 1, task: 1 };

/** How well what was typed fits a thing, 0: not at all. Each typed word must fit. */
export function score(thing: Findable, typed: string): number {
  const all = wordsOf(typed);
  const telling = all.filter((w) => !filler.has(w));
  const asked = telling.length > 0 ? telling : all;
  if (asked.length === 0) {
    return 0;
  }
  const label = wordsOf(thing.label).filter((w, _, ws) => ws.length === 1 || !filler.has(w));
  const other = wordsOf(thing.words ?? "");
  let sum = 0;
  for (const [i, w] of asked.entries()) {
    const last = i === asked.length - 1;
    let best = 0;
    label.forEach((l, at) => {
      const n = fit(w, l, last);
      best = Math.max(best, n > 0 && at === 0 ? n + 15 : n); // a command begins with what it does
    });
    for (const o of other) {
      best = Math.max(best, fit(w, o, last) * 0.65);
    }
    if (best === 0) {
      return 0;
    }
    sum += best;
  }
  const whole = label.join(" ");
  const said = asked.join(" ");
  return sum / asked.length + (whole === said ? 60 : whole.startsWith(said) ? 10 : 0) + weight[thing.kind] - Math.min(label.length, 10) * 0.5;
}

/** The things that fit what was typed, the best first; of equals in the order given. */
export function rank<T extends Findable>(things: readonly T[], typed: string, most: number): T[] {
  return things
    .map((thing) => ({ thing, n: score(thing, typed) }))
    .filter(({ n }) => n > 0)
    .sort((a, b) => b.n - a.n)
    .slice(0, most)
    .map(({ thing }) => thing);
}
