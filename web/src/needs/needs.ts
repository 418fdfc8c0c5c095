import { useMemo } from "react";

import { hooks, type Api } from "@/api/client";
import { useHeld } from "@/needs/held";

/** What waits for the person, the longest first; `total` counts also what is not listed. */
export function useNeeds() {
  return hooks.useQuery("get", "/api/needs", { params: { query: { limit: 1000 } } });
}

export interface Waiting {
  items: readonly Api<"Need">[];
  total: number;
}

/** The same without what was decided here. Undefined: it is not known yet. */
export function useWaiting(): Waiting | undefined {
  const { data } = useNeeds();
  const held = useHeld();
  return useMemo(() => data && without(data, new Set(held.flatMap((h) => h.needs.map((n) => n.id)))), [data, held]);
}

export function without({ items, total }: Waiting, decided: ReadonlySet<string>): Waiting {
  const left = items.filter((n) => !decided.has(n.id));
  return { items: left, total: total - (items.length - left.length) };
}
