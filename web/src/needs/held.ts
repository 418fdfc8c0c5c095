import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useCallback, useEffect } from "react";
import { createStore, useStore } from "zustand";

import { lastWords, type Api } from "@/api/client";
import { complain } from "@/ui/toasts";

type Need = Api<"Need">;

/** How long a decision can be undone, in milliseconds: it is sent after that. */
export const undoFor = 10_000;
/** How long what was decided stays out of the list after it was sent: its runner carries it out. */
const settling = 3000;

/** A decision that was given here. */
export interface Held {
  id: number;
  needs: readonly Need[];
  text: string; // what was decided
  due: number; // when it is sent, in milliseconds since 1970
  state: "held" | "sending" | "sent";
  send: () => Promise<unknown>;
}

const store = createStore<{ all: readonly Held[] }>(() => ({ all: [] }));
let last = 0;

const put = (id: number, over: Partial<Held>) => store.setState(({ all }) => ({ all: all.map((h) => (h.id === id ? { ...h, ...over } : h)) }));
const drop = (id: number) => store.setState(({ all }) => ({ all: all.filter((h) => h.id !== id) }));

/** The decisions of this page, the newest last. */
export function useHeld(): readonly Held[] {
  return useStore(store, (s) => s.all);
}

/** The decisions as they are now. */
export function heldNow(): readonly Held[] {
  return store.getState().all;
}

/** Takes a decision back that was not sent; false: there is none. */
export function undo(id = heldNow().findLast((h) => h.state === "held")?.id): boolean {
  const held = heldNow().find((h) => h.id === id);
  if (held?.state !== "held") {
    return false;
  }
  drop(held.id);
  return true;
}

/** Sends a decision now. */
export async function sendNow(id: number): Promise<void> {
  const held = heldNow().find((h) => h.id === id);
  if (held?.state !== "held") {
    return;
  }
  put(id, { state: "sending" });
  try {
    await held.send();
    put(id, { state: "sent" });
    setTimeout(() => drop(id), settling);
  } catch (error) {
    drop(id); // it waits again
    complain(error);
  }
}

/** Keeps a decision for as long as it can be undone, and sends it then. */
export function hold(needs: readonly Need[], text: string, send: () => Promise<unknown>): number {
  const id = ++last;
  store.setState(({ all }) => ({ all: [...all, { id, needs, text, due: Date.now() + undoFor, state: "held", send }] }));
  setTimeout(() => void sendNow(id), undoFor);
  return id;
}

/** Has every decision sent that is held when the page is left. */
export function useSendOnLeave(): void {
  useEffect(() => {
    const leave = () => {
      lastWords();
      heldNow().forEach((h) => void sendNow(h.id));
    };
    window.addEventListener("pagehide", leave);
    return () => window.removeEventListener("pagehide", leave);
  }, []);
}

/** Asks again for what a decision changes. */
export async function askAgain(client: QueryClient): Promise<void> {
  await client.invalidateQueries({ predicate: ({ queryKey: [, path] }) => typeof path === "string" && /^\/api\/(needs|runs|tasks|messages|incidents|agents)/.test(path) });
}

/** Decides about needs: the commands are sent when the decision can no longer be undone. */
export function useDecide(): (needs: readonly Need[], text: string, send: (all: readonly Need[]) => Promise<unknown>) => void {
  const client = useQueryClient();
  return useCallback((needs, text, send) => void hold(needs, text, () => send(needs).finally(() => askAgain(client))), [client]);
}
