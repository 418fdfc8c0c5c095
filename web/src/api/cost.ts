/*
 * How long the server works at the answers of each path. The page's own wait is
 * no measure: a busy page, or ten of them, wait long for cheap answers. The least of the last
 * few times counts, because on a busy machine a cheap answer sometimes takes long.
 */
const few = 4;
const costs = new Map<string, readonly number[]>();

/** Takes in what an answer's header Server-Timing says: app;dur=MILLISECONDS. */
export function took(path: string, header: string | null): void {
  const ms = Number(/(?:^|,)\s*app;dur=([\d.]+)/.exec(header ?? "")?.[1]);
  if (Number.isFinite(ms)) {
    costs.set(path, [...(costs.get(path) ?? []), ms].slice(-few));
  }
}

/** Milliseconds; undefined: no answer of the path said it. */
export function costOf(path: string): number | undefined {
  const last = costs.get(path);
  return last && Math.min(...last);
}
