import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { grown, renewed, type Known, type Page } from "@/live/newest";

interface Item {
  id: number;
  v: number;
}
const keyOf = (i: Item) => i.id;
const size = 4;

/** A list as the server has it: the newest first, pages by the id that the one before ended with. */
function pageOf(all: readonly Item[], cursor?: string): Page<Item> {
  const rest = cursor === undefined ? all : all.filter((i) => i.id < Number(cursor));
  const items = rest.slice(0, size);
  return rest.length > size ? { items, next: String(items.at(-1)?.id) } : { items };
}

describe("a list with its newest first", () => {
  it("is what the server has, as far as it was asked for", () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant("add" as const), n: fc.integer({ min: 1, max: 9 }) }),
      fc.record({ do: fc.constant("change" as const), n: fc.nat(20) }),
      fc.record({ do: fc.constant("remove" as const), n: fc.nat(20) }),
      fc.record({ do: fc.constant("older" as const), n: fc.constant(0) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let all: Item[] = [];
        let id = 0;
        let known: Known<Item> = renewed<Item>(undefined, pageOf(all), keyOf);
        for (const s of steps) {
          if (s.do === "older") {
            if (known.next !== undefined) {
              known = grown(known, pageOf(all, known.next), keyOf);
            }
          } else {
            if (s.do === "add") {
              all = [...Array.from({ length: s.n }, (_, i) => ({ id: id + s.n - i, v: 0 })), ...all];
              id += s.n;
            } else if (s.do === "change") {
              // Only what the newest page has is known to change.
              all = all.map((x, i) => (i === s.n && i < size ? { ...x, v: x.v + 1 } : x));
            } else {
              all = all.filter((_, i) => i !== s.n || i >= size);
            }
            known = renewed(known, pageOf(all), keyOf);
          }
          expect(known.items).toEqual(all.slice(0, known.items.length));
          expect(known.next === undefined).toBe(known.items.length === all.length);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("keeps what was read while the newest page is asked again", () => {
    const all = Array.from({ length: 10 }, (_, i) => ({ id: 10 - i, v: 0 }));
    const two = grown(renewed<Item>(undefined, pageOf(all), keyOf), pageOf(all, "7"), keyOf);
    const three = renewed(two, pageOf([{ id: 11, v: 0 }, ...all]), keyOf);
    expect(three.items.map(keyOf)).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3]);
    expect(three.next).toBe(two.next);
  });
});
