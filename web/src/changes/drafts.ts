import { createStore, useStore } from "zustand";
import { createJSONStorage, persist } from "zustand/middleware";

import type { Api } from "@/api/client";
import { workKey, type WorkSource } from "@/changes/source";

type Comment = Api<"Comment">;

interface Drafts {
  of: Readonly<Record<string, readonly Comment[]>>; // by source
}

/** Comments that are not sent yet. They outlive a reload of the page, and end with its tab. */
const drafts = createStore<Drafts>()(
  persist((): Drafts => ({ of: {} }), { name: "cmux-comments", version: 1, storage: createJSONStorage(() => sessionStorage) }),
);

const nothing: readonly Comment[] = [];

export function useDrafts(s: WorkSource): readonly Comment[] {
  const key = workKey(s);
  return useStore(drafts, ({ of }) => of[key] ?? nothing);
}

export function addDraft(s: WorkSource, c: Comment): void {
  change(s, (was) => [...was, c]);
}

export function removeDraft(s: WorkSource, c: Comment): void {
  change(s, (was) => was.filter((o) => o !== c));
}

/** Forgets comments that were sent; those that were written meanwhile stay. */
export function forgetDrafts(s: WorkSource, sent: readonly Comment[]): void {
  change(s, (was) => was.filter((o) => !sent.includes(o)));
}

function change(s: WorkSource, how: (was: readonly Comment[]) => readonly Comment[]): void {
  const key = workKey(s);
  drafts.setState(({ of }) => ({ of: { ...of, [key]: how(of[key] ?? nothing) } }));
}
