/** Something that was said to the person. */
export interface Notice {
  id: number;
  tone: "ok" | "bad";
  text: string;
  way?: string | undefined;
  times: number; // it was said
  at: number; // the last time, in ms
}

/** How long an error is seen at least, in ms: the order that it is about may lead to another page itself. */
const least = 5000;

/** Whether a notice stays when another page is opened. */
export function stays(n: Pick<Notice, "tone" | "at">, now: number): boolean {
  return n.tone === "ok" || now - n.at < least;
}

/** How many of those that go by themselves are seen. */
const mostGood = 3;

/** What is seen after another one: errors stay, one that comes again is counted. */
export function added(was: readonly Notice[], n: Omit<Notice, "times">): Notice[] {
  const same = was.find((w) => w.tone === n.tone && w.text === n.text && w.way === n.way);
  const rest = was.filter((w) => w !== same);
  const good = rest.filter((w) => w.tone === "ok");
  const keep = n.tone === "ok" ? new Set(good.slice(-(mostGood - 1))) : new Set(good);
  return [...rest.filter((w) => w.tone === "bad" || keep.has(w)), { ...n, times: (same?.times ?? 0) + 1 }];
}
