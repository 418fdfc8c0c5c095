import { useCallback, useEffect, useReducer, useRef } from "react";

import { api } from "@/api/client";
import { join, type Said } from "@/conversation/group";
import { useFrames, useLog } from "@/live/store";
import type { Frame } from "@/live/protocol";

/** Whose conversation or log: an agent of a run's node, or a standing one. */
export type AgentSource = { kind: "node"; run: string; node: string } | { kind: "agent"; name: string };

/** The name of the source in the log of events. */
export function sourceName(s: AgentSource): string {
  return s.kind === "node" ? `run:${s.run}/${s.node}` : `agent:${s.name}`;
}

const pageSize = 200;
/** Soon after the first of several events. */
const soon = 100;

interface Page {
  items: readonly Said[]; // the newest first, or behind `after` the oldest first
  next?: string;
}

interface Part {
  cursor?: string;
  after?: number;
  attempt?: number;
}

async function ask(s: AgentSource, part: Part, signal: AbortSignal): Promise<Page> {
  const query = { limit: pageSize, ...part };
  const { data } =
    s.kind === "node"
      ? await api.GET("/api/runs/{id}/nodes/{node}/conversation", { params: { path: { id: s.run, node: s.node }, query }, signal })
      : await api.GET("/api/agents/{name}/conversation", { params: { path: { name: s.name }, query }, signal });
  return data ?? { items: [] };
}

interface State {
  items: readonly Said[] | undefined; // undefined: nothing came yet
  older: string | undefined; // the cursor of the page before
  asking: boolean; // for that page
  error: unknown;
}

type Action = { type: "begin" } | { type: "newest"; page: Page } | { type: "older"; page: Page } | { type: "behind"; page: Page } | { type: "asking" } | { type: "failed"; error: unknown };

function reduce(was: State, a: Action): State {
  switch (a.type) {
    case "begin":
      return { items: undefined, older: undefined, asking: false, error: undefined };
    case "newest":
      return { items: join([], a.page.items), older: a.page.next, asking: false, error: undefined };
    case "older":
      return { ...was, items: join(was.items ?? [], a.page.items), older: a.page.next, asking: false, error: undefined };
    case "behind":
      return { ...was, items: join(was.items ?? [], a.page.items), error: undefined };
    case "asking":
      return { ...was, asking: true };
    case "failed":
      return { ...was, asking: false, error: a.error };
  }
}

/** A conversation, the newest part first; what is said comes by itself. */
export function useConversation(source: AgentSource, attempt?: number) {
  const [state, put] = useReducer(reduce, { items: undefined, older: undefined, asking: false, error: undefined });
  const name = sourceName(source);
  const epoch = useLog((l) => l.epoch);
  const latest = useRef({ source, attempt, last: 0 });
  useEffect(() => {
    latest.current = { source, attempt, last: state.items?.at(-1)?.seq ?? 0 };
  });
  const end = useRef<AbortController>(undefined);
  const timer = useRef<number>(undefined);
  const begin = useCallback(() => {
    end.current?.abort();
    window.clearTimeout(timer.current);
    timer.current = undefined;
    const life = new AbortController();
    end.current = life;
    put({ type: "begin" });
    const { source: s, attempt: n } = latest.current;
    run(life.signal, put, async () => put({ type: "newest", page: await ask(s, n === undefined ? {} : { attempt: n }, life.signal) }));
  }, []);
  useEffect(() => {
    begin();
    return () => {
      end.current?.abort();
      window.clearTimeout(timer.current);
      timer.current = undefined;
    };
  }, [begin, name, attempt, epoch]);
  const catchUp = useCallback(() => {
    const life = end.current;
    if (!life) {
      return;
    }
    run(life.signal, put, async () => {
      const { source: s, attempt: n } = latest.current;
      let { last } = latest.current;
      for (;;) {
        const page = await ask(s, { after: last, ...(n === undefined ? {} : { attempt: n }) }, life.signal);
        put({ type: "behind", page });
        last = page.items.at(-1)?.seq ?? last;
        if (page.items.length < pageSize) {
          return;
        }
      }
    });
  }, []);
  useFrames(
    useCallback(
      (frames: readonly Frame[]) => {
        if (frames.some((f) => f.source === name)) {
          timer.current ??= window.setTimeout(() => {
            timer.current = undefined;
            catchUp();
          }, soon);
        }
      },
      [name, catchUp],
    ),
  );
  const { older, asking } = state;
  const more = useCallback(() => {
    const life = end.current;
    if (!life || older === undefined || asking) {
      return;
    }
    put({ type: "asking" });
    const { source: s, attempt: n } = latest.current;
    run(life.signal, put, async () => put({ type: "older", page: await ask(s, { cursor: older, ...(n === undefined ? {} : { attempt: n }) }, life.signal) }));
  }, [older, asking]);
  return { items: state.items, error: state.error, more: older === undefined ? undefined : more, asking, again: begin };
}

function run(signal: AbortSignal, put: (a: Action) => void, what: () => Promise<void>): void {
  what().catch((error: unknown) => {
    if (!signal.aborted) {
      put({ type: "failed", error });
    }
  });
}
