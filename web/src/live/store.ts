import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { createStore, useStore } from "zustand";

import { connect } from "@/live/connection";
import { nothing, step, type Effects, type Input, type Log } from "@/live/fold";
import type { Frame } from "@/live/protocol";
import { touched, touches } from "@/live/touches";

/** What the page knows of the log. There is one for a page. */
const logStore = createStore<Log>(() => nothing);

type Watcher = (events: readonly Frame[]) => void;
const watchers = new Set<Watcher>();

/** A part of what the page knows of the log. */
export function useLog<T>(select: (log: Log) => T): T {
  return useStore(logStore, select);
}

/** Has `watcher` called with each event that comes, in order. */
export function useFrames(watcher: Watcher): void {
  useEffect(() => {
    watchers.add(watcher);
    return () => void watchers.delete(watcher);
  }, [watcher]);
}

/** Connects while the page is there, and has queries asked again when events touch them. */
export function useLive(): void {
  const client = useQueryClient();
  useEffect(() => {
    const end = new AbortController();
    const queries = new Refresher(client);
    const put = (input: Input) => {
      const [next, effects] = step(logStore.getState(), input);
      logStore.setState(next, true);
      tell(effects, queries);
    };
    connect(
      {
        connecting: () => put({ type: "connecting" }),
        message: (message) => put({ type: "message", message }),
        lost: () => put({ type: "lost" }),
        from: () => {
          const { epoch, seq } = logStore.getState();
          return { type: "from", epoch, seq };
        },
      },
      end.signal,
    );
    return () => {
      end.abort();
      queries.end();
    };
  }, [client]);
}

function tell(effects: Effects, queries: Refresher): void {
  if (effects.reload) {
    queries.add(["/api/"]);
  }
  if (effects.events.length > 0) {
    queries.add(new Set(effects.events.flatMap(touches)));
    for (const w of watchers) {
      w(effects.events);
    }
  }
}

/** Soon after the first of several events, and not again before all answers are there. */
const soon = 25;
const leastGap = 250;
const mostPatience = 2000;

/** Has queries asked again: those that are seen at once, the others when they are seen. */
export class Refresher {
  private beginnings = new Set<string>();
  private timer: number | undefined;
  private busy = false;
  private last = 0;

  constructor(private readonly client: QueryClient) {}

  add(beginnings: Iterable<string>): void {
    for (const b of beginnings) {
      this.beginnings.add(b);
    }
    this.plan();
  }

  end(): void {
    window.clearTimeout(this.timer);
    this.beginnings.clear();
  }

  private plan(): void {
    if (this.busy || this.timer !== undefined || this.beginnings.size === 0) {
      return;
    }
    const wait = Math.max(soon, this.last + leastGap - Date.now());
    this.timer = window.setTimeout(() => void this.ask(), wait);
  }

  private async ask(): Promise<void> {
    this.timer = undefined;
    this.busy = true;
    this.last = Date.now();
    const beginnings = this.beginnings;
    this.beginnings = new Set();
    const answers = this.client.invalidateQueries({
      predicate: ({ queryKey: [method, path] }) => method === "get" && typeof path === "string" && touched(path, beginnings),
    });
    // One answer that does not come holds the others up for a moment only.
    let timer: number | undefined;
    const patience = new Promise((done) => (timer = window.setTimeout(done, mostPatience)));
    try {
      await Promise.race([answers, patience]);
    } finally {
      window.clearTimeout(timer);
      this.busy = false;
      this.plan();
    }
  }
}
