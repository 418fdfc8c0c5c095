import type { Api } from "@/api/client";

type Stands = Pick<Api<"Delivery">, "node" | "state">;

export function waits(w: Stands): boolean {
  return w.state === "to review" || w.state === "changed since it was approved";
}

/** What waits for a decision is first; else the order is the run's. */
export function order<T extends Stands>(items: readonly T[]): T[] {
  const rank = (w: Stands) => (waits(w) ? 0 : w.state === "nothing to review" ? 2 : 1);
  return items.toSorted((a, b) => rank(a) - rank(b));
}

/** As the nodes stood at first, by their names; what came since is behind them. */
export function asFirst<T extends Stands>(items: readonly T[], first: readonly string[]): T[] {
  const place = new Map(first.map((node, i) => [node, i]));
  return items.toSorted((a, b) => (place.get(a.node) ?? first.length) - (place.get(b.node) ?? first.length));
}

/** What is left to do with the works of a run: a decision about one, the merge of one, or nothing; undefined: there is no work. */
export function leftOf(works: readonly Pick<Stands, "state">[]): "review" | "merge" | "merged" | undefined {
  const is = (...states: Stands["state"][]) => works.some((w) => states.includes(w.state));
  if (is("to review", "changed since it was approved")) {
    return "review";
  }
  return is("approved") ? "merge" : is("merged") ? "merged" : undefined;
}
