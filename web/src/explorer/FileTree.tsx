import { ChevronDown, ChevronRight, File, Folder, Link2 } from "lucide-react";
import { useState } from "react";

import { hooks, type Api } from "@/api/client";
import { ancestors } from "@/explorer/tree";
import { Button } from "@/ui/button";
import { Failed } from "@/ui/states";

interface TreeProps {
  path: string; // of the folder; empty: the project
  chosen: string;
  choose: (path: string) => void;
}

/** What is in a folder; empty: the project. */
export function useFolder(path: string) {
  return hooks.useInfiniteQuery(
    "get",
    "/api/filesystem",
    { params: { query: { limit: 500, ...(path === "" ? {} : { path }) } } },
    { pageParamName: "cursor", initialPageParam: "", getNextPageParam: (p: Api<"ListFileEntry">) => p.next, staleTime: 5000 },
  );
}

/** A folder with what is in it; folders open where they stand. */
export function FileTree({ path, chosen, choose }: TreeProps) {
  const entries = useFolder(path);
  if (entries.error !== null) {
    return <Failed error={entries.error} retry={() => void entries.refetch()} />;
  }
  const items = entries.data?.pages.flatMap((p) => p.items) ?? [];
  return (
    <ul>
      {entries.isPending && <li className="px-2 text-muted">Loading</li>}
      {!entries.isPending && items.length === 0 && <li className="px-2 text-muted">It is empty</li>}
      {items.map((e) => (
        <li key={e.path}>{e.kind === "folder" ? <Opened entry={e} chosen={chosen} choose={choose} /> : <Leaf entry={e} chosen={chosen} choose={choose} />}</li>
      ))}
      {entries.hasNextPage && (
        <li>
          <Button tone="quiet" onClick={() => void entries.fetchNextPage()}>
            More
          </Button>
        </li>
      )}
    </ul>
  );
}

const line = "flex min-h-7 w-full min-w-0 items-center gap-1.5 rounded px-1 text-left hover:bg-sunken";

function Opened({ entry, chosen, choose }: { entry: Api<"FileEntry"> } & Omit<TreeProps, "path">) {
  const [open, setOpen] = useState(() => ancestors(chosen).includes(entry.path));
  return (
    <>
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)} className={line}>
        {open ? <ChevronDown aria-hidden size={14} className="shrink-0" /> : <ChevronRight aria-hidden size={14} className="shrink-0" />}
        <Folder aria-hidden size={14} className="shrink-0 text-accent" />
        <span className="truncate">{entry.name}</span>
      </button>
      {open && (
        <div className="ml-3 border-l border-line pl-1">
          <FileTree path={entry.path} chosen={chosen} choose={choose} />
        </div>
      )}
    </>
  );
}

function Leaf({ entry: e, chosen, choose }: { entry: Api<"FileEntry"> } & Omit<TreeProps, "path">) {
  const Icon = e.kind === "link" ? Link2 : File;
  return (
    <button type="button" aria-current={chosen === e.path ? "true" : undefined} disabled={e.kind !== "file"} onClick={() => choose(e.path)} className={`${line} disabled:opacity-55 aria-[current]:bg-accent-soft`}>
      <span className="w-3.5 shrink-0" />
      <Icon aria-hidden size={14} className="shrink-0 text-muted" />
      <span className="truncate">{e.name}</span>
    </button>
  );
}
