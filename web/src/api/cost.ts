/*
 * How long the server works at the answers of each route. What the page itself waits says
 * less: a busy page, or ten of them, wait long for what costs nothing. The least of the last
 * few counts, as on a busy machine now and then an answer takes long that is none to make.
 */
const few = 4;
const costs = new Map<string, readonly number[]>();

/** Takes in what an answer's header Server-Timing says: app;dur=MILLISECONDS. */
export function took(route: string, header: string | null): void {
  const ms = Number(/(?:^|,)\s*app;dur=([\d.]+)/.exec(header ?? "")?.[1]);
  if (Number.isFinite(ms)) {
    costs.set(route, [...(costs.get(route) ?? []), ms].slice(-few));
  }
}

/** Milliseconds; undefined: no answer of the route said it. */
export function costOf(route: unknown): number | undefined {
  const last = typeof route === "string" ? costs.get(route) : undefined;
  return last && Math.min(...last);
}
