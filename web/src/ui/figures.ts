/** A number of tokens, as cmux says it: 950, 12.3k, 1.2M. */
export function tokens(n: number): string {
  if (n < 1000) {
    return String(n);
  }
  return n < 1_000_000 ? `${trim(n / 1000)}k` : `${trim(n / 1_000_000)}M`;
}

function trim(n: number): string {
  return n < 100 ? n.toFixed(1).replace(/\.0$/, "") : String(Math.round(n));
}

/** A number of bytes: 512 B, 1.5 KB, 20 MB. */
export function bytes(n: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let at = 0;
  while (n >= 1000 && at < units.length - 1) {
    n /= 1000;
    at++;
  }
  return `${at === 0 ? n : trim(n)} ${units[at] ?? ""}`;
}

/** A whole number with its thousands apart: 12,345. The browser's own way loads its tables of all languages first. */
export function grouped(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A word with its number: 1 task, 2 tasks. */
export function count(n: number, one: string, many = `${one}s`): string {
  return `${grouped(n)} ${n === 1 ? one : many}`;
}
