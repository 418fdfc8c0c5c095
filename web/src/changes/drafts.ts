import { createStore, useStore } from "zustand";
import { createJSONStorage, persist } from "zustand/middleware";

import type { Api } from "@/api/client";
import { workKey, type WorkSource } from "@/changes/source";

/** A comment that is not sent yet. */
export interface Draft {
  id: string; // what was read back from the storage is another object
  comment: Api<"Comment">;
}

interface Drafts {
  of: Readonly<Record<string, readonly Draft[]>>; // by source
}

/** Comments that are not sent yet. They outlive a reload of the page, and end with its tab. */
const drafts = createStore<Drafts>()(
  persist((): Drafts => ({ of: {} }), {
    name: "cmux-comments",
    version: 2,
    storage: createJSONStorage(() => sessionStorage),
    migrate: () => ({ of: {} }), // those of version 1 have no id
  }),
);

const nothing: readonly Draft[] = [];

export function useDrafts(s: WorkSource): readonly Draft[] {
  const key = workKey(s);
  return useStore(drafts, ({ of }) => of[key] ?? nothing);
}

export function addDraft(s: WorkSource, comment: Api<"Comment">): void {
  change(s, (was) => [...was, { id: newId(), comment }]);
}

/** Forgets comments that were sent or are not wanted; those that were written meanwhile stay. */
export function forgetDrafts(s: WorkSource, gone: readonly Draft[]): void {
  const ids = new Set(gone.map((d) => d.id));
  change(s, (was) => was.filter((d) => !ids.has(d.id)));
}

/** Known in this browser alone: crypto.randomUUID is not there without TLS. */
function newId(): string {
  return crypto.getRandomValues(new Uint32Array(3)).join("-");
}

function change(s: WorkSource, how: (was: readonly Draft[]) => readonly Draft[]): void {
  const key = workKey(s);
  drafts.setState(({ of }) => ({ of: { ...of, [key]: how(of[key] ?? nothing) } }));
}

/** What the store and its tests have in common: the drafts of a source as they are now. */
export function draftsOf(s: WorkSource): readonly Draft[] {
  return drafts.getState().of[workKey(s)] ?? nothing;
}

/** Reads what the storage holds, as a page that is loaded does. */
export async function rehydrate(): Promise<void> {
  await drafts.persist.rehydrate();
}
