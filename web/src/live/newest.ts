import type { UseQueryResult } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";

import { complain } from "@/ui/toasts";

export interface Page<T> {
  items: readonly T[]; // the newest first
  next?: string; // the cursor of the page before in time
}

type Key = string | number;

/** What is known of a list: without gaps from its newest item on. */
export interface Known<T> {
  items: readonly T[];
  next: string | undefined; // the cursor of what is older; undefined: that is all
}

/**
 * The list after the newest page was requested again. Items of the page replace the known ones, and known
 * items that are missing from its range are removed. If the page does not reach the known items, there is
 * a gap, and the list starts again with this page.
 */
export function renewed<T>(was: Known<T> | undefined, page: Page<T>, keyOf: (item: T) => Key): Known<T> {
  // Items come in front alone: one that was not known at the end of the page means that all that was known is on it, or beyond a gap.
  const end = page.items.at(-1);
  const reached = end === undefined || page.next === undefined ? -1 : (was?.items.findIndex((i) => keyOf(i) === keyOf(end)) ?? -1);
  const rest = was !== undefined && reached >= 0 ? was.items.slice(reached + 1) : [];
  return rest.length === 0 ? { items: page.items, next: page.next } : { items: [...page.items, ...rest], next: was?.next };
}

/** What is known with an older page. */
export function grown<T>(was: Known<T>, page: Page<T>, keyOf: (item: T) => Key): Known<T> {
  const keys = new Set(was.items.map(keyOf));
  return { items: [...was.items, ...page.items.filter((i) => !keys.has(keyOf(i)))], next: page.next };
}

export interface Newest<T> {
  items: readonly T[] | undefined; // undefined: nothing came yet
  more: (() => void) | undefined; // asks for older ones; undefined: there are none, or they are on their way
  hasMore: boolean;
  busy: boolean; // older ones are on their way
}

/**
 * A list with its newest item first that grows at its end when it is asked to. `head` asks for its newest
 * page, and is all that is asked again when events touch it; `older` asks for the page at a cursor. The
 * functions may be other ones each time; `head` is of one list for as long as the component is there.
 */
export function useNewest<T>(head: Pick<UseQueryResult<Page<T>, unknown>, "data">, older: (cursor: string) => Promise<Page<T> | undefined>, keyOf: (item: T) => Key): Newest<T> {
  const [known, setKnown] = useState<Known<T>>();
  const [page, setPage] = useState<Page<T>>();
  const [busy, setBusy] = useState(false);
  if (head.data !== undefined && head.data !== page) {
    setPage(head.data);
    setKnown(renewed(known, head.data, keyOf));
  }
  const latest = useRef({ older, keyOf });
  const there = useRef(true);
  useEffect(() => {
    latest.current = { older, keyOf };
  });
  useEffect(() => {
    there.current = true;
    return () => {
      there.current = false;
    };
  }, []);
  const next = known?.next;
  const more = useCallback(() => {
    if (next === undefined) {
      return;
    }
    setBusy(true);
    latest.current
      .older(next)
      .then((p) => {
        // A list that started again meanwhile has another cursor.
        setKnown((was) => (p !== undefined && was?.next === next ? grown(was, p, latest.current.keyOf) : was));
      })
      .catch((error: unknown) => {
        if (there.current) {
          complain(error);
        }
      })
      .finally(() => setBusy(false));
  }, [next]);
  return { items: known?.items, more: next === undefined || busy ? undefined : more, hasMore: next !== undefined, busy };
}
