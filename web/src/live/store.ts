import { useQueryClient, type Query, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { createStore, useStore } from "zustand";

import { filled } from "@/api/client";
import { costOf } from "@/api/cost";
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
        silent: () => put({ type: "silent" }),
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

/** Soon after the first of several events. */
const soon = 10;
/** Between an answer and the next time that it is asked for, in milliseconds. */
const leastGap = 100;
const mostGap = 10_000;
/** An answer that does not come keeps a query from being asked again for so long. */
const mostPatience = 60_000;

/**
 * How long a query is not asked again, by how long the server worked at its answer: what is cheap takes
 * a fifth of the time at most, and what is not, such as merges that git tries, far less.
 */
export function gap(took: number): number {
  return Math.min(mostGap, Math.max(leastGap, took * (took < 100 ? 4 : 20)));
}

/** What the server works at the answer of a query, in milliseconds; undefined: it did not say, or did not answer. */
function cost(query: Query): number | undefined {
  const [, path, of] = query.queryKey as readonly [unknown, unknown, { params?: { path?: Record<string, unknown> } } | undefined];
  if (typeof path !== "string" || query.state.status !== "success") {
    return undefined;
  }
  const one = costOf(filled(path, of?.params?.path ?? {}));
  const { pages } = (query.state.data ?? {}) as { pages?: unknown[] }; // of a list that was read on, each is asked for
  return one === undefined ? undefined : one * (pages?.length ?? 1);
}

interface Asked {
  wanted: boolean;
  busy: boolean;
  next: number; // not before
}

/** Has queries asked again: those that are seen at once, the others when they are seen. */
export class Refresher {
  private beginnings = new Set<string>();
  private timer: number | undefined;
  private ended = false;
  private readonly asked = new WeakMap<Query, Asked>();

  constructor(private readonly client: QueryClient) {}

  add(beginnings: Iterable<string>): void {
    for (const b of beginnings) {
      this.beginnings.add(b);
    }
    if (this.beginnings.size > 0) {
      this.timer ??= window.setTimeout(() => this.look(), soon);
    }
  }

  end(): void {
    this.ended = true;
    window.clearTimeout(this.timer);
  }

  private look(): void {
    this.timer = undefined;
    const { beginnings } = this;
    this.beginnings = new Set();
    for (const query of this.client.getQueryCache().findAll({ predicate: ({ queryKey }) => touched(queryKey, beginnings) })) {
      if (!query.isActive()) {
        query.invalidate();
        continue;
      }
      const a = this.asked.get(query) ?? { wanted: false, busy: false, next: 0 };
      this.asked.set(query, a);
      if (!a.wanted) {
        a.wanted = true;
        this.plan(query, a);
      }
    }
  }

  /** Asks when it may be asked. One that waits for its answer is planned behind it. */
  private plan(query: Query, a: Asked): void {
    if (a.busy || !a.wanted) {
      return;
    }
    const wait = a.next - Date.now();
    if (wait > 0) {
      window.setTimeout(() => void this.ask(query, a), wait);
    } else {
      void this.ask(query, a);
    }
  }

  private async ask(query: Query, a: Asked): Promise<void> {
    if (this.ended) {
      return;
    }
    a.busy = true;
    const began = Date.now();
    const { state } = query;
    // A first answer that is under way is waited for, and may be older than what is asked for here.
    a.wanted = state.fetchStatus !== "idle" && state.data === undefined;
    let known: number | undefined;
    let timer: number | undefined;
    const patience = new Promise<undefined>((done) => (timer = window.setTimeout(() => done(undefined), mostPatience)));
    try {
      const asked = this.client.invalidateQueries({ queryKey: query.queryKey, exact: true });
      known = await Promise.race([asked.then(() => cost(query)), patience]);
    } finally {
      window.clearTimeout(timer);
      a.busy = false;
      const now = Date.now();
      a.next = now + gap(known ?? now - began);
      this.plan(query, a);
    }
  }
}
