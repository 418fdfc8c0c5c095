import { api, hooks, type Api } from "@/api/client";

export type Note = Api<"Note">;
export type Kind = Note["kind"];
export type Due = Api<"MemoryDue">;

/** The notes that members of rooms may get, or those in which all words are. */
export function useNotes(words: string) {
  const all = hooks.useQuery("get", "/api/memory/notes", { params: { query: { limit: 1000 } } }, { enabled: words === "" });
  const found = hooks.useQuery("get", "/api/memory/search", { params: { query: { q: words, limit: 1000 } } }, { enabled: words !== "" });
  return words === "" ? all : found;
}

/** Where a note comes from, and which turns got it. */
export function useWhy(id: string) {
  return hooks.useQuery("get", "/api/memory/notes/{id}", { params: { path: { id } } });
}

/** The rooms that nobody has learned from. */
export function useDue() {
  return hooks.useQuery("get", "/api/memory/learn");
}

/* What a person does with notes, as functions. */
export const keep = {
  add: (body: Api<"NewNote">) => api.POST("/api/memory/notes", { body }),
  change: ({ id, ...body }: { id: string } & Api<"ChangedNote">) => api.PATCH("/api/memory/notes/{id}", { params: { path: { id } }, body }),
  forget: ({ id, erase }: { id: string; erase: boolean }) => api.DELETE("/api/memory/notes/{id}", { params: { path: { id }, query: { erase } } }),
  promote: (id: string) => api.POST("/api/memory/notes/{id}/promote", { params: { path: { id } } }),
  learn: (body: Api<"Learning">) => api.POST("/api/memory/learn", { body }),
};

export const kinds: readonly (readonly [Kind, string])[] = [
  ["project", "About the project"],
  ["practice", "How something is done"],
  ["decision", "A decision"],
  ["member", "About an agent program"],
];

/** Who made a note, within a sentence. */
export function makerOf(by: string): string {
  return by === "user" ? "you" : by === "heuristic" ? "cmux" : by;
}

/** The most characters of a note. */
export const mostText = 300;

/** How long a text is, in characters as the server counts them. */
export function lengthOf(text: string): number {
  return Array.from(text.trim()).length;
}

/** The link to all notes, or to one. */
export function notesAt(id = ""): string {
  return `/rooms?notes=${encodeURIComponent(id)}`;
}
