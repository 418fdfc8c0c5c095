import { useSyncExternalStore } from "react";

/** How long ago, as cmux says ages: 12s, 3m, 2h, 5d. */
export function age(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) {
    return `${s}s`;
  }
  if (s < 3600) {
    return `${Math.floor(s / 60)}m`;
  }
  if (s < 86_400) {
    return `${Math.floor(s / 3600)}h`;
  }
  return `${Math.floor(s / 86_400)}d`;
}

/** How long something took, in milliseconds, for a person: 4 s, 3 min, 2 h 5 min. */
export function span(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) {
    return `${s} s`;
  }
  const min = Math.round(s / 60);
  return min < 60 ? `${min} min` : `${Math.floor(min / 60)} h${min % 60 === 0 ? "" : ` ${min % 60} min`}`;
}

// One clock for the page, which ticks while somebody looks at a time.
const every = 5000;
let now = Date.now();
let timer: number | undefined;
const lookers = new Set<() => void>();

function subscribe(look: () => void): () => void {
  lookers.add(look);
  now = Date.now();
  timer ??= window.setInterval(() => {
    if (document.visibilityState === "visible") {
      now = Date.now();
      lookers.forEach((l) => l());
    }
  }, every);
  return () => {
    lookers.delete(look);
    if (lookers.size === 0) {
      window.clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The time, to 5 s, in milliseconds since 1970. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/** A point in time, as how long ago it was. */
export function Ago({ at, className }: { at: string; className?: string }) {
  const time = useNow();
  const date = new Date(at);
  return (
    <time dateTime={at} title={date.toLocaleString()} className={className}>
      {age(time - date.getTime())}
    </time>
  );
}
