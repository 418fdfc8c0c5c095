import { clsx } from "clsx";

import type { Api } from "@/api/client";
import { visible } from "@/changes/visible";
import { VirtualList } from "@/ui/list";

type File = Api<"WorktreeFileChange">;

interface FileListProps {
  files: readonly File[];
  chosen: string | undefined;
  comments: (path: string) => number;
  onChoose: (path: string) => void;
}

/** The changed files with their figures. */
export function FileList({ files, chosen, comments, onChoose }: FileListProps) {
  return (
    <VirtualList
      label="Changed files"
      items={files}
      keyOf={(f) => f.path}
      estimate={36}
      row={(f) => (
        <button
          type="button"
          aria-current={f.path === chosen}
          onClick={() => onChoose(f.path)}
          className={clsx("flex w-full items-baseline gap-2 px-3 py-1.5 text-left", f.path === chosen ? "bg-accent-soft" : "hover:bg-sunken")}
        >
          <span className="min-w-0 grow font-mono text-code wrap-anywhere">{visible(f.path)}</span>
          {comments(f.path) > 0 && <span className="rounded bg-warn-soft px-1 text-warn" aria-label="comments">{comments(f.path)}</span>}
          <Figures file={f} />
        </button>
      )}
    />
  );
}

/** How a file changed: added, deleted or renamed, and its lines. */
export function Figures({ file: f }: { file: File }) {
  return (
    <span className="shrink-0 whitespace-nowrap text-muted tabular-nums">
      {f.how !== "modified" && <span className="mr-1.5">{f.how}</span>}
      {f.binary === true ? (
        "binary"
      ) : (
        <>
          <span className="text-ok">+{f.added}</span> <span className="text-bad">−{f.deleted}</span>
        </>
      )}
    </span>
  );
}
