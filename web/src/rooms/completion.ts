/** A name that is being typed after @. */
export interface Typed {
  from: number; // where the @ is
  to: number;
  names: readonly string[]; // that it may become
}

const mostNames = 8;

/** The name that is typed at the caret, and whom it may mean; undefined: nobody. */
export function typedName(text: string, caret: number, names: readonly string[]): Typed | undefined {
  const word = /(?:^|[^\w@/-])@([\w-]*)$/.exec(text.slice(0, caret))?.[1];
  if (word === undefined || /^[\w-]/.test(text.slice(caret))) {
    return undefined;
  }
  const begins = word.toLowerCase();
  const found = [...names, "all"].filter((n) => n.toLowerCase().startsWith(begins));
  const whole = found.length === 1 && found[0]?.toLowerCase() === begins;
  return found.length === 0 || whole ? undefined : { from: caret - word.length - 1, to: caret, names: found.slice(0, mostNames) };
}

/** The text with the name in place of what was typed of it, and where the caret is then. */
export function completed(text: string, { from, to }: Pick<Typed, "from" | "to">, name: string): { text: string; caret: number } {
  const rest = text.slice(to);
  const put = `@${name}${/^\s/.test(rest) ? "" : " "}`;
  return { text: text.slice(0, from) + put + rest, caret: from + name.length + 2 };
}
