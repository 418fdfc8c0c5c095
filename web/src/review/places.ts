/** A line of a changed file that a text names. */
export interface NamedLine {
  path: string;
  line: number;
}

const most = 20;

/**
 * The lines of changed files that a text names, as `price/total.sh:3`, `price/total.sh line 3` or, where one file alone
 * changed, `line 3`; each once, in the order of the text.
 */
export function placesIn(text: string, paths: readonly string[]): NamedLine[] {
  const [only, ...more] = paths;
  const names = paths.toSorted((a, b) => b.length - a.length).map(escaped); // src/a.go before a.go
  const file = names.length === 0 ? "" : `(?<![\\w./-])(${names.join("|")})["'\`*]*(?::|,?\\s+(?:at\\s+)?\\(?lines?\\s+)(\\d{1,7})`;
  const any = [file, only !== undefined && more.length === 0 ? "()\\b[Ll]ines?\\s+(\\d{1,7})" : ""].filter((s) => s !== "").join("|");
  if (any === "") {
    return [];
  }
  const found = new Map<string, NamedLine>();
  for (const [, path, line, , alone] of text.matchAll(new RegExp(any, "g"))) {
    const at = { path: path ?? only ?? "", line: Number(line ?? alone) };
    if (at.line > 0 && found.size < most) {
      found.set(`${at.path}:${at.line}`, at);
    }
  }
  return [...found.values()];
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
}
