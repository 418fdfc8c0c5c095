import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { api, Problem, type Api } from "@/api/client";
import { changed, dirty, keep, look, restore, take, wrote, type Draft } from "@/editor/draft";
import { useOrder } from "@/ui/toasts";

/** The files that are edited here: the routes that read and write them. */
type Path = "/api/graph" | "/api/config/file";

/** Another file that is edited, by its query and how it is read and written. */
interface Place {
  queryKey: readonly unknown[];
  read: () => Promise<Api<"ConfigText"> | undefined>;
  write: (body: { text: string; sum: string }) => Promise<Api<"ConfigText"> | undefined>;
}

function placeOf(path: Path): Place {
  return {
    queryKey: ["get", path, {}],
    read: async () => (await api.GET(path)).data,
    write: async (body) => (await api.PUT(path, { body })).data,
  };
}

interface Options {
  place: string; // where a text is kept that was not saved, while another page is looked at or this one is loaded again
  onSaved?: () => Promise<void>;
}

/** A file that is edited: its draft, which Ctrl+S saves too, and what somebody else made of the file meanwhile. */
export function useFile(path: Path | Place, file: Api<"ConfigText">, { place, onSaved }: Options) {
  const client = useQueryClient();
  const [seen, setSeen] = useState(file);
  const [draft, setDraft] = useState(() => restore(sessionStorage.getItem(place), file));
  if (seen !== file) {
    setSeen(file);
    setDraft(look(draft, file));
  }
  const edited = dirty(draft);
  const conflict = changed(draft);
  const save = useOrder(async (over: boolean) => {
    const sent = draft;
    const { queryKey, read, write } = typeof path === "string" ? placeOf(path) : path;
    try {
      const data = await write({ text: sent.text, sum: over ? sent.disk.sum : sent.base.sum });
      if (data) {
        await client.cancelQueries({ queryKey, exact: true }); // it may have read the file before this
        setDraft((d) => wrote(d, data));
        client.setQueryData(queryKey, data);
        await client.invalidateQueries({ queryKey, exact: true }); // somebody may have written it since
        await onSaved?.();
      }
    } catch (e) {
      if (!(e instanceof Problem && e.status === 409)) {
        throw e;
      }
      // Refused: as the file has changed, which is seen in it, or for what the server says.
      const now = await read();
      if (!now || now.sum === (over ? sent.disk : sent.base).sum) {
        throw e;
      }
      setDraft((d) => look(d, now));
    }
  });
  useKept(place, draft, edited);
  // Ctrl+S counts also while a text is being saved, and before what was just typed is drawn.
  const [wished, setWished] = useState(0);
  const served = useRef(0);
  const { isPending: saving, mutate } = save;
  useEffect(() => {
    if (wished !== served.current && !saving) {
      served.current = wished;
      if (edited && !conflict) {
        mutate(false);
      }
    }
  }, [wished, edited, conflict, saving, mutate]);
  useSaveKey(() => setWished((n) => n + 1));
  return {
    draft,
    edited,
    conflict,
    saving,
    setText: (text: string) => setDraft((d) => ({ ...d, text })),
    take: () => setDraft(take),
    save: () => mutate(false),
    saveOver: () => mutate(true),
  };
}

/** What is edited, and how it stands. */
export type EditedFile = ReturnType<typeof useFile>;

/** Keeps a text that was not saved, and has the browser ask before it is closed with it. */
function useKept(place: string, draft: Draft, edited: boolean): void {
  const kept = keep(draft);
  useEffect(() => {
    if (kept === "") {
      sessionStorage.removeItem(place);
    } else {
      sessionStorage.setItem(place, kept);
    }
  }, [place, kept]);
  const ask = edited && kept !== "";
  useEffect(() => {
    if (!ask) {
      return;
    }
    const leave = (e: BeforeUnloadEvent) => e.preventDefault();
    window.addEventListener("beforeunload", leave);
    return () => window.removeEventListener("beforeunload", leave);
  }, [ask]);
}

/** Has Ctrl+S call this, and not the browser's own dialog. */
function useSaveKey(save: () => void): void {
  const latest = useRef(save);
  useEffect(() => {
    latest.current = save;
  });
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if ((e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === "s") {
        e.preventDefault();
        latest.current();
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}
