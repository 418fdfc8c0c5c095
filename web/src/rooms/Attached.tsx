import { FileText, Paperclip, X } from "lucide-react";
import { useRef } from "react";

import { segment } from "@/api/path";
import { visible } from "@/changes/visible";
import type { Picked } from "@/rooms/attach";
import type { Message } from "@/rooms/rooms";
import { IconButton } from "@/ui/button";
import { bytes } from "@/ui/figures";

/** Chooses files for the message that is being written. */
export function AttachButton({ add, disabled }: { add: (files: Iterable<File>) => void; disabled: boolean }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton label="Attach files" disabled={disabled} onClick={() => input.current?.click()}>
        <Paperclip aria-hidden size={16} />
      </IconButton>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={(e) => {
          add(e.target.files ?? []);
          e.target.value = ""; // the same file may be chosen again
        }}
      />
    </>
  );
}

/** The files that go with the message that is being written. */
export function PickedFiles({ files, remove, disabled }: { files: readonly Picked[]; remove: (id: number) => void; disabled: boolean }) {
  return (
    files.length > 0 && (
      <ul aria-label="Files of this message" className="flex flex-wrap gap-1.5">
        {files.map(({ id, file }) => (
          <li key={id} className="flex max-w-full min-w-0 items-center gap-1 rounded-md border border-line bg-sunken pl-2">
            <FileText aria-hidden size={14} className="shrink-0 text-muted" />
            <span className="min-w-0 truncate">{visible(file.name)}</span>
            <span className="shrink-0 text-muted">{bytes(file.size)}</span>
            <IconButton label={`Do not attach ${visible(file.name)}`} className="min-h-7 shrink-0" disabled={disabled} onClick={() => remove(id)}>
              <X aria-hidden size={14} />
            </IconButton>
          </li>
        ))}
      </ul>
    )
  );
}

/** The files that a message has attached. A browser saves them and shows none as a page. */
export function AttachedFiles({ room, files }: { room: string; files: Message["files"] }) {
  return (
    files.length > 0 && (
      <ul aria-label="Attached files" className="my-1 flex flex-wrap gap-1.5">
        {files.map((f) => (
          <li key={f.file} className="max-w-full min-w-0">
            <a href={`/api/rooms/${segment(room)}/files/${segment(f.file)}`} download={f.name} className="flex min-h-7 min-w-0 items-center gap-1 rounded-md border border-line-strong bg-surface px-2 text-accent hover:bg-sunken">
              <FileText aria-hidden size={14} className="shrink-0" />
              <span className="min-w-0 truncate underline">{visible(f.name)}</span>
              <span className="shrink-0 text-muted">{bytes(f.size)}</span>
            </a>
          </li>
        ))}
      </ul>
    )
  );
}
