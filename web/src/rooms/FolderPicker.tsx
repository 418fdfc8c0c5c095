import { ArrowUp, Folder } from "lucide-react";
import { useState } from "react";

import { visible } from "@/changes/visible";
import { useFolder } from "@/explorer/FileTree";
import { foldersIn, parentOf } from "@/rooms/folders";
import { Button } from "@/ui/button";
import { Failed } from "@/ui/states";

interface PickerProps {
  chosen: string; // from the project's root; empty: the root
  choose: (path: string) => void;
}

/** The folder in which members work. Only folders of the project can be chosen. */
export function FolderPicker({ chosen, choose }: PickerProps) {
  const [open, setOpen] = useState(false);
  return (
    <div role="group" aria-label="Folder" className="flex flex-col gap-1">
      <p className="font-medium">Folder</p>
      <p className="flex flex-wrap items-center gap-2">
        <span className="min-w-0 wrap-anywhere">{chosen === "" ? "The project's root" : <code>{visible(chosen)}</code>}</span>
        <Button aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Close the folders" : "Choose a folder…"}
        </Button>
        {chosen !== "" && (
          <Button tone="quiet" onClick={() => choose("")}>
            Use the root
          </Button>
        )}
      </p>
      {open && (
        <Folders
          choose={(path) => {
            choose(path);
            setOpen(false);
          }}
          first={chosen}
        />
      )}
    </div>
  );
}

function Folders({ first, choose }: { first: string; choose: (path: string) => void }) {
  const [at, go] = useState(first);
  const entries = useFolder(at);
  const all = entries.data?.pages.flatMap((p) => p.items) ?? [];
  const folders = foldersIn(all);
  const more = entries.hasNextPage && all.at(-1)?.kind === "folder"; // they come first
  return (
    <div className="rounded-md border border-line">
      <p className="flex flex-wrap items-center gap-2 border-b border-line p-2">
        <span className="min-w-0 grow wrap-anywhere">{at === "" ? "The project's root" : visible(at)}</span>
        {at !== "" && (
          <Button tone="quiet" icon={<ArrowUp aria-hidden size={15} />} onClick={() => go(parentOf(at))}>
            Up
          </Button>
        )}
        <Button tone="accent" disabled={entries.data === undefined} onClick={() => choose(at)}>
          Use this folder
        </Button>
      </p>
      {entries.error !== null ? (
        <Failed error={entries.error} retry={() => void entries.refetch()} />
      ) : (
        <ul aria-label={at === "" ? "Folders of the project" : `Folders in ${at}`} className="max-h-48 overflow-y-auto p-1">
          {entries.isPending && <li className="px-2 text-muted">Loading</li>}
          {!entries.isPending && folders.length === 0 && <li className="px-2 text-muted">There is no folder here</li>}
          {folders.map((f) => (
            <li key={f.path}>
              <button type="button" className="flex min-h-8 w-full min-w-0 items-center gap-1.5 rounded px-2 text-left hover:bg-sunken" onClick={() => go(f.path)}>
                <Folder aria-hidden size={15} className="shrink-0 text-accent" />
                <span className="truncate">{visible(f.name)}</span>
              </button>
            </li>
          ))}
          {more && (
            <li>
              <Button tone="quiet" busy={entries.isFetchingNextPage} onClick={() => void entries.fetchNextPage()}>
                More
              </Button>
            </li>
          )}
        </ul>
      )}
    </div>
  );
}
