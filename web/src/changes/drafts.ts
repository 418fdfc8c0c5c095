import { createStore, useStore } from "zustand";
import { createJSONStorage, persist } from "zustand/middleware";

import type { Api } from "@/api/client";
import { workKey, type WorkSource } from "@/changes/source";

/** A comment that is not sent yet. */
export interface Draft {
  id: string; // what was read back from the storage is another object
  comment: Api<"Comment">;
}

/** The lines of a file that a comment is about. */
export interface Place {
  path: string;
  old: boolean;
  line: number;
  to: number;
}

/** A comment that is being typed. */
export interface Unfinished {
  place: Place;
  text: string;
  quote?: string; // what stands there
}

/** What a person has written about a source and not sent. */
export interface Unsent {
  drafts: readonly Draft[];
  typed: readonly Unfinished[];
}

interface Drafts {
  of: Readonly<Record<string, readonly Draft[]>>; // by source
  typed: Readonly<Record<string, readonly Unfinished[]>>; // by source, one for each place
}

/** So many sources have drafts at most: those that were touched last. */
const mostSources = 100;

const storageName = "cmux-comments";

/** Comments that are not sent yet, and those that are being typed. They outlive the page and its tab. */
const drafts = createStore<Drafts>()(
  persist((): Drafts => ({ of: {}, typed: {} }), {
    name: storageName,
    version: 3,
    storage: createJSONStorage(() => localStorage),
    migrate: () => ({ of: {}, typed: {} }), // there was another storage before
  }),
);

// What another page of this browser writes is not written over.
window.addEventListener("storage", (e) => {
  if (e.key === storageName) {
    void rehydrate();
  }
});

const nothing: readonly Draft[] = [];
const nothingTyped: readonly Unfinished[] = [];

export function useDrafts(s: WorkSource): readonly Draft[] {
  const key = workKey(s);
  return useStore(drafts, ({ of }) => of[key] ?? nothing);
}

export function addDraft(s: WorkSource, comment: Api<"Comment">): void {
  change(s, (was) => [...was, { id: newId(), comment }]);
}

/** Puts another text into a comment. */
export function changeDraft(s: WorkSource, id: string, text: string): void {
  change(s, (was) => was.map((d) => (d.id === id ? { id, comment: { ...d.comment, text } } : d)));
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
  drafts.setState(({ of }) => ({ of: put(of, key, how(of[key] ?? nothing)) }));
}

/** Sets a list, the newest last; an empty one is left out. */
function put<T>(all: Readonly<Record<string, readonly T[]>>, key: string, list: readonly T[]): Record<string, readonly T[]> {
  const others = Object.entries(all).filter(([k]) => k !== key);
  return Object.fromEntries(list.length === 0 ? others : [...others.slice(1 - mostSources), [key, list]]);
}

/** What is being typed about a source. */
export function useTyped(s: WorkSource): readonly Unfinished[] {
  const key = workKey(s);
  return useStore(drafts, ({ typed }) => typed[key] ?? nothingTyped);
}

/** Keeps what is typed about a place; an empty text is none. */
export function keepTyped(s: WorkSource, place: Place, text: string, quote = ""): void {
  const key = workKey(s);
  drafts.setState(({ typed }) => ({ typed: put(typed, key, [...(typed[key] ?? []).filter((t) => !samePlace(t.place, place)), ...(text === "" ? [] : [{ place, text, ...(quote === "" ? {} : { quote }) }])]) }));
}

/** What is written about a source and not sent. */
export function useUnsent(s: WorkSource): Unsent {
  const all = useTyped(s);
  return { drafts: useDrafts(s), typed: all.filter((t) => t.text.trim() !== "") };
}

/** The comment that a text about a place is. */
export function commentAt({ path, old, line, to }: Place, text: string, quote: string | undefined): Api<"Comment"> {
  return { path, line, ...(to > line ? { to } : {}), ...(old ? { old } : {}), ...(quote === undefined || quote === "" ? {} : { quote }), text: text.trim() };
}

/** Makes comments of what is being typed about a source. */
export function finishTyped(s: WorkSource): void {
  for (const { place, text, quote } of typedOf(s)) {
    if (text.trim() !== "") {
      addDraft(s, commentAt(place, text, quote));
    }
    keepTyped(s, place, "");
  }
}

/** Forgets what was sent or is not wanted; what was written meanwhile stays. */
export function discard(s: WorkSource, { drafts: gone, typed }: Unsent): void {
  forgetDrafts(s, gone);
  for (const t of typed) {
    keepTyped(s, t.place, "");
  }
}

export function samePlace(a: Place, b: Place): boolean {
  return a.path === b.path && a.old === b.old && a.line === b.line && a.to === b.to;
}

/** What the store and its tests have in common: what is typed about a source as it is now. */
export function typedOf(s: WorkSource): readonly Unfinished[] {
  return drafts.getState().typed[workKey(s)] ?? nothingTyped;
}

/** What the store and its tests have in common: the drafts of a source as they are now. */
export function draftsOf(s: WorkSource): readonly Draft[] {
  return drafts.getState().of[workKey(s)] ?? nothing;
}

/** Reads what the storage holds, as a page that is loaded does. */
export async function rehydrate(): Promise<void> {
  await drafts.persist.rehydrate();
}
