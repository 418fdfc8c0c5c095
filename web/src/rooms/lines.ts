import { useCallback, useEffect, useRef, useState } from "react";

import { api } from "@/api/client";
import type { Frame } from "@/live/protocol";
import { useFrames, useLog } from "@/live/store";
import type { Line } from "@/rooms/rooms";

const pageSize = 1000;
/** Soon after the first of several events, in milliseconds. */
const soon = 50;

/** Lines without gaps: from `first` on, as far as they were asked for. */
interface Known {
  first: number;
  lines: readonly Line[];
}

interface State {
  known: Known | undefined; // undefined: nothing came yet
  error: unknown;
}

/** What is under way for one room. */
interface Life {
  known: Known | undefined;
  from: number | undefined; // the first line that is wanted
  asked: number; // times
  busy: boolean;
}

const unborn = (): Life => ({ known: undefined, from: undefined, asked: 0, busy: false });

/** Lines with those behind them, each once. */
function joined(some: readonly Line[], more: readonly Line[]): readonly Line[] {
  const last = some.at(-1)?.n ?? 0;
  return [...some, ...more.filter((l) => l.n > last)];
}

/**
 * The facts of a room from line `from` on; what happens comes by itself, and each line is asked for once.
 * `from` is undefined until it is known. A component has one room for as long as it is there.
 */
export function useLines(room: string, from: number | undefined): { lines: readonly Line[] | undefined; error: unknown; again: () => void } {
  const epoch = useLog((l) => l.epoch);
  const [state, setState] = useState<State>({ known: undefined, error: undefined });
  const life = useRef<Life>(unborn());
  const timer = useRef<number>(undefined);
  const pull = useCallback(async () => {
    const mine = life.current;
    mine.asked++;
    if (mine.busy) {
      return;
    }
    mine.busy = true;
    const there = () => life.current === mine;
    const ask = async (after: number) => (await api.GET("/api/rooms/{room}/log", { params: { path: { room }, query: { after, limit: pageSize } } })).data;
    // Takes the lines behind a number; until: those that are known already.
    const take = async (after: number, until: number) => {
      let next: number | undefined = after;
      let all: readonly Line[] = [];
      while (next !== undefined && next < until && there()) {
        const page = await ask(next);
        all = [...all, ...(page?.items ?? [])];
        next = page?.next;
      }
      return all;
    };
    try {
      for (let did = 0; did !== mine.asked && there(); ) {
        did = mine.asked;
        const { from: wanted } = mine;
        if (wanted === undefined) {
          break;
        }
        const before = mine.known !== undefined && wanted < mine.known.first ? await take(wanted - 1, mine.known.first - 1) : [];
        const behind = await take(mine.known?.lines.at(-1)?.n ?? wanted - 1, Number.POSITIVE_INFINITY);
        mine.known = { first: Math.min(wanted, mine.known?.first ?? wanted), lines: joined(joined(before, mine.known?.lines ?? []), behind) };
        if (there()) {
          setState({ known: mine.known, error: undefined });
        }
      }
    } catch (error) {
      if (there()) {
        setState((was) => ({ ...was, error }));
      }
    } finally {
      mine.busy = false;
    }
  }, [room]);
  // In another log of events something may have been missed.
  useEffect(() => {
    life.current = unborn();
    return () => {
      life.current = unborn(); // what is under way is for nobody
      window.clearTimeout(timer.current);
      timer.current = undefined;
    };
  }, [room, epoch]);
  useEffect(() => {
    if (from !== undefined) {
      life.current.from = from;
      void pull();
    }
  }, [from, epoch, pull]);
  useFrames(
    useCallback(
      (frames: readonly Frame[]) => {
        if (frames.some((f) => f.source === `room:${room}`)) {
          timer.current ??= window.setTimeout(() => {
            timer.current = undefined;
            void pull();
          }, soon);
        }
      },
      [room, pull],
    ),
  );
  return { lines: state.known?.lines, error: state.error, again: () => void pull() };
}
