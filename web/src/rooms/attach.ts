import { useState, type ClipboardEvent, type DragEvent } from "react";
import { createStore, useStore } from "zustand";

import { api } from "@/api/client";
import { visible } from "@/changes/visible";
import { complain } from "@/ui/toasts";

/** A file that was chosen for a message. */
export interface Picked {
  id: number;
  file: File;
}

/** As the server has it: of a file in bytes, and of a message in files. */
const mostBytes = 10 * 2 ** 20;
const mostFiles = 10;

/** What was chosen with what is chosen now, and why some of that is left out. A file is there once. */
export function picked(so: readonly Picked[], more: Iterable<File>): { files: readonly Picked[]; faults: readonly string[] } {
  const files = [...so];
  const faults: string[] = [];
  for (const file of more) {
    const name = visible(file.name);
    if (files.some(({ file: f }) => f.name === file.name && f.size === file.size && f.lastModified === file.lastModified)) {
      continue;
    }
    if (file.size === 0) {
      faults.push(`${name} is empty, or a folder: attach the files in it.`);
    } else if (file.size > mostBytes) {
      faults.push(`${name} is larger than 10 MB, which is the most: attach a part of it.`);
    } else if (files.length === mostFiles) {
      faults.push(`${name} is not attached: a message may have ${mostFiles} files.`);
    } else {
      files.push({ id: (files.at(-1)?.id ?? 0) + 1, file });
    }
  }
  return { files, faults };
}

/** What the files are told apart by in a draft. */
export function marks(files: readonly Picked[]): string[] {
  return files.map(({ file }) => `${file.name} ${file.size} ${file.lastModified}`);
}

// By room. They stay with the draft's text while other pages are shown, and while the panes of the room move.
const store = createStore<Readonly<Record<string, readonly Picked[]>>>(() => ({}));
const none: readonly Picked[] = [];

/** The files of the message that is being written in a room: chosen, dropped or pasted. */
export function useAttached(room: string, enabled: boolean) {
  const files = useStore(store, (s) => s[room] ?? none);
  const setFiles = (next: readonly Picked[]) => store.setState({ [room]: next });
  const [over, setOver] = useState(false); // files are held over the field
  const add = (more: Iterable<File>) => {
    const next = picked(store.getState()[room] ?? none, more);
    setFiles(next.files);
    next.faults.forEach((fault) => complain(new Error(fault)));
  };
  const holds = (e: DragEvent) => enabled && e.dataTransfer.types.includes("Files");
  const target = {
    onDragOver: (e: DragEvent) => {
      if (holds(e)) {
        e.preventDefault();
        setOver(true);
      }
    },
    onDragLeave: () => setOver(false),
    onDrop: (e: DragEvent) => {
      setOver(false);
      if (holds(e)) {
        e.preventDefault();
        add(e.dataTransfer.files);
      }
    },
    onPaste: (e: ClipboardEvent) => {
      // A copied table is text and a picture of it: then the text is meant.
      if (enabled && e.clipboardData.files.length > 0 && !e.clipboardData.types.includes("text/plain")) {
        e.preventDefault();
        add(e.clipboardData.files);
      }
    },
  };
  return { files, add, remove: (id: number) => setFiles(files.filter((f) => f.id !== id)), clear: () => setFiles(none), over, target };
}

/** Sends the files to the room, and returns what a message calls them. The same file again is the same. */
export async function upload(room: string, files: readonly Picked[]): Promise<string[]> {
  const ids: string[] = [];
  for (const { file } of files) {
    const { data } = await api.POST("/api/rooms/{room}/files", {
      params: { path: { room }, query: { name: file.name } },
      body: file as unknown as string, // as it is
      bodySerializer: (body) => body,
      headers: { "Content-Type": "application/octet-stream" },
    });
    ids.push(...(data === undefined ? [] : [data.file]));
  }
  return ids;
}
