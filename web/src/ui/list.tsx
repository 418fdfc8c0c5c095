import { elementScroll, useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import { useCallback, useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";

import { Button } from "@/ui/button";
import { follows } from "@/ui/follow";

interface VirtualListProps<T> {
  label: string;
  items: readonly T[];
  keyOf: (item: T) => string | number;
  estimate?: number; // pixels of a row
  row: (item: T, index: number) => ReactNode;
  /** The newest is at the end: it stays in view while the reader is there. */
  follow?: boolean;
  /** Called when the reader comes near the end (or the start, with `follow`). */
  more?: (() => void) | undefined;
  /** The item that is brought into view when this changes. */
  show?: number | undefined;
  /** With `follow`: the list goes to its end when this changes. */
  latest?: unknown;
}

/** A list of any length, of which only what is seen is drawn. */
export function VirtualList<T>({ label, items, keyOf, estimate = 40, row, follow = false, more, show, latest }: VirtualListProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const top = useRef(0); // where the list was, or put itself
  const [away, setAway] = useState(false); // the reader has left the end
  const keep = useCallback((end: boolean) => {
    atEnd.current = end;
    setAway(!end);
  }, []);
  const list = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => estimate,
    getItemKey: (i) => {
      const item = items[i];
      return item === undefined ? i : keyOf(item);
    },
    overscan: 10,
    // What the list scrolls itself, because rows are measured or come, is no person's scrolling.
    scrollToFn: (offset, options, instance) => {
      elementScroll(offset, options, instance);
      top.current = box.current?.scrollTop ?? 0;
    },
  });
  const seen = list.getVirtualItems();
  const first = seen[0]?.index ?? 0;
  const final = seen.at(-1)?.index ?? 0;
  // Items that come before those which are seen do not push them away.
  const held = useRef<{ index: number; keys: (string | number)[] }>({ index: 0, keys: [] });
  useLayoutEffect(() => {
    const { index, keys } = held.current;
    const there = items[index];
    if (follow && !atEnd.current && keys.length > 0 && (there === undefined || keyOf(there) !== keys[0])) {
      const places = new Map(items.map((item, i) => [keyOf(item), i]));
      const at = keys.map((k) => places.get(k)).find((i) => i !== undefined);
      if (at !== undefined) {
        list.scrollToIndex(at, { align: "start" });
      }
    }
    const from = list.range?.startIndex ?? 0;
    held.current = { index: from, keys: items.slice(from, from + 8).map(keyOf) };
  });
  const toEnd = useCallback(() => {
    const element = box.current;
    if (element) {
      element.scrollTop = element.scrollHeight;
      top.current = element.scrollTop;
    }
  }, []);
  useEffect(() => {
    if (follow && atEnd.current && items.length > 0) {
      list.scrollToIndex(items.length - 1, { align: "end" });
    }
  }, [follow, items.length, list]);
  useEffect(() => {
    if (follow && latest !== undefined) {
      keep(true);
      toEnd();
    }
  }, [follow, latest, keep, toEnd]);
  // Rows that turn out higher, and a window that becomes smaller, leave the end in view.
  useEffect(() => {
    const element = box.current;
    if (!follow || !element?.firstElementChild) {
      return;
    }
    const watch = new ResizeObserver(() => {
      if (atEnd.current) {
        toEnd();
      }
    });
    watch.observe(element);
    watch.observe(element.firstElementChild);
    return () => watch.disconnect();
  }, [follow, toEnd]);
  useEffect(() => {
    if (show !== undefined) {
      keep(false);
      list.scrollToIndex(show, { align: "center" });
    }
  }, [show, list, keep]);
  const near = follow ? first < 5 : final > items.length - 5;
  useEffect(() => {
    if (near && items.length > 0) {
      more?.();
    }
  }, [near, items.length, more]);
  return (
    <div className="relative h-full min-h-0">
      <div
        ref={box}
        role="list"
        aria-label={label}
        tabIndex={0}
        className="h-full min-h-0 overflow-auto contain-strict [overflow-anchor:none]"
        onScroll={(e) => {
          const { scrollTop, scrollHeight, clientHeight } = e.currentTarget;
          const end = follows(atEnd.current, { was: top.current, top: scrollTop, below: scrollHeight - scrollTop - clientHeight });
          top.current = scrollTop;
          keep(end);
        }}
      >
        <div className="relative w-full" style={{ height: list.getTotalSize() }}>
          {seen.map((v) => {
            const item = items[v.index];
            return (
              item !== undefined && (
                <div
                  key={v.key}
                  ref={list.measureElement}
                  data-index={v.index}
                  role="listitem"
                  aria-setsize={items.length}
                  aria-posinset={v.index + 1}
                  className="absolute top-0 left-0 w-full"
                  style={{ transform: `translateY(${v.start}px)` }}
                >
                  {row(item, v.index)}
                </div>
              )
            );
          })}
        </div>
      </div>
      {follow && away && items.length > 0 && (
        <div className="pointer-events-none absolute inset-x-0 bottom-2 flex justify-center">
          <Button
            className="pointer-events-auto shadow-md"
            icon={<ArrowDown aria-hidden size={15} />}
            onClick={() => {
              keep(true);
              toEnd();
            }}
          >
            Jump to latest
          </Button>
        </div>
      )}
    </div>
  );
}
