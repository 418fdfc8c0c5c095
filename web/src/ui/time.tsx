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

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (n: number) => String(n).padStart(2, "0");

/** A day that no two countries read differently: 4 Mar 2026. */
export function day(date: Date): string {
  return `${date.getDate()} ${months[date.getMonth()] ?? ""} ${date.getFullYear()}`;
}

/** The time of day: 14:05. */
export function clock(date: Date): string {
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** A point in time, in this browser's zone: 4 Mar 2026, 14:05. */
export function moment(at: string | number): string {
  const date = new Date(at);
  return `${day(date)}, ${clock(date)}`;
}

/** The same to the second. */
export function exact(at: string | number): string {
  return `${moment(at)}:${two(new Date(at).getSeconds())}`;
}

// One clock for the page, which ticks while somebody looks at a time.
const every = 1000;
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

/** What the clock says to a reader, who is drawn again only when that is something else. */
export function useClock<T extends string | number | undefined>(read: (now: number) => T): T {
  return useSyncExternalStore(subscribe, () => read(now));
}

const coarse = 5000;

/** The time, to 5 s, in milliseconds since 1970: for what costs something to draw. */
export function useNow(): number {
  return useClock((t) => Math.floor(t / coarse) * coarse);
}

/** A point in time, as how long ago it was. */
export function Ago({ at, className }: { at: string; className?: string }) {
  const from = Date.parse(at);
  const text = useClock((now) => age(now - from));
  return (
    <time dateTime={at} title={exact(at)} className={className}>
      {text}
    </time>
  );
}
