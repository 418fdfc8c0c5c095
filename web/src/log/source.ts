import { useCallback, useEffect, useReducer, useRef } from "react";

import { api, type Api } from "@/api/client";
import { sourceName, type AgentSource } from "@/conversation/source";
import { append, beginning, prepend, type Kept } from "@/log/lines";

type Part = Api<"LogPart">;

/** How often a log that is written is asked for what was added. */
const every = 1000;

async function ask(s: AgentSource, query: { from?: number; before?: number }, signal: AbortSignal): Promise<Part | undefined> {
  const { data } =
    s.kind === "node"
      ? await api.GET("/api/runs/{id}/nodes/{node}/log/part", { params: { path: { id: s.run, node: s.node }, query }, signal })
      : await api.GET("/api/agents/{name}/log/part", { params: { path: { name: s.name }, query }, signal });
  return data;
}

interface State {
  log: Kept | undefined;
  asking: boolean;
  error: unknown;
}

type Action = { type: "begin" } | { type: "end"; part: Part } | { type: "more"; part: Part } | { type: "before"; part: Part } | { type: "asking" } | { type: "failed"; error: unknown };

function reduce(was: State, a: Action): State {
  switch (a.type) {
    case "begin":
      return { log: undefined, asking: false, error: undefined };
    case "end":
      return { log: beginning(a.part), asking: false, error: undefined };
    case "more":
      return { ...was, log: was.log && append(was.log, a.part), error: undefined };
    case "before":
      return { ...was, log: was.log && prepend(was.log, a.part), asking: false, error: undefined };
    case "asking":
      return { ...was, asking: true };
    case "failed":
      return { ...was, asking: false, error: a.error };
  }
}

/** A log: its end first, what is added while it is `live`, and what is before when it is asked for. */
export function useLogText(source: AgentSource, live: boolean) {
  const [state, put] = useReducer(reduce, { log: undefined, asking: false, error: undefined });
  const name = sourceName(source);
  const latest = useRef({ source, next: 0, from: 0 });
  useEffect(() => {
    latest.current = { source, next: state.log?.next ?? 0, from: state.log?.from ?? 0 };
  });
  const end = useRef<AbortController>(undefined);
  useEffect(() => {
    const life = new AbortController();
    end.current = life;
    put({ type: "begin" });
    ask(latest.current.source, { from: -1 }, life.signal).then(
      (part) => part && put({ type: "end", part }),
      (error: unknown) => !life.signal.aborted && put({ type: "failed", error }),
    );
    return () => life.abort();
  }, [name]);
  const there = state.log !== undefined;
  useEffect(() => {
    if (!there) {
      return;
    }
    let busy = false;
    const life = new AbortController();
    const look = async () => {
      if (busy || document.visibilityState !== "visible") {
        return;
      }
      busy = true;
      try {
        const part = await ask(latest.current.source, { from: latest.current.next }, life.signal);
        if (part && !life.signal.aborted && (part.next > part.from || part.size < latest.current.next)) {
          put({ type: "more", part });
        }
      } catch (error) {
        if (!life.signal.aborted) {
          put({ type: "failed", error });
        }
      }
      busy = false;
    };
    void look(); // also when it has just ended: its last lines
    const timer = live ? window.setInterval(() => void look(), every) : undefined;
    return () => {
      life.abort();
      window.clearInterval(timer);
    };
  }, [there, live, name]);
  const { asking } = state;
  const more = useCallback(() => {
    const life = end.current;
    if (!life || asking || latest.current.from <= 0) {
      return;
    }
    put({ type: "asking" });
    ask(latest.current.source, { from: -1, before: latest.current.from }, life.signal).then(
      (part) => part && put({ type: "before", part }),
      (error: unknown) => !life.signal.aborted && put({ type: "failed", error }),
    );
  }, [asking]);
  return { log: state.log, error: state.error, more: (state.log?.from ?? 0) > 0 ? more : undefined };
}
