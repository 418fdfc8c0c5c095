import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, type ReactNode } from "react";

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
}

/** A list of any length, of which only what is seen is drawn. */
export function VirtualList<T>({ label, items, keyOf, estimate = 40, row, follow = false, more, show }: VirtualListProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const list = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => estimate,
    getItemKey: (i) => {
      const item = items[i];
      return item === undefined ? i : keyOf(item);
    },
    overscan: 10,
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
    const top = list.range?.startIndex ?? 0;
    held.current = { index: top, keys: items.slice(top, top + 8).map(keyOf) };
  });
  useEffect(() => {
    if (follow && atEnd.current && items.length > 0) {
      list.scrollToIndex(items.length - 1, { align: "end" });
    }
  }, [follow, items.length, list]);
  // Rows that turn out higher, and a window that becomes smaller, leave the end in view.
  useEffect(() => {
    const element = box.current;
    if (!follow || !element?.firstElementChild) {
      return;
    }
    const watch = new ResizeObserver(() => {
      if (atEnd.current) {
        element.scrollTop = element.scrollHeight;
      }
    });
    watch.observe(element);
    watch.observe(element.firstElementChild);
    return () => watch.disconnect();
  }, [follow]);
  useEffect(() => {
    if (show !== undefined) {
      atEnd.current = false;
      list.scrollToIndex(show, { align: "center" });
    }
  }, [show, list]);
  const near = follow ? first < 5 : final > items.length - 5;
  useEffect(() => {
    if (near && items.length > 0) {
      more?.();
    }
  }, [near, items.length, more]);
  return (
    <div
      ref={box}
      role="list"
      aria-label={label}
      tabIndex={0}
      className="h-full min-h-0 overflow-auto contain-strict"
      onScroll={(e) => {
        const { scrollTop, scrollHeight, clientHeight } = e.currentTarget;
        atEnd.current = scrollHeight - scrollTop - clientHeight < 40;
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
  );
}
