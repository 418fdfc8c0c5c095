import { useDeferredValue, useState } from "react";

import type { Api } from "@/api/client";
import { NoteForm } from "@/memory/NoteForm";
import { NoteItem } from "@/memory/NoteItem";
import { keep, useDue, useNotes, type Due } from "@/memory/notes";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input } from "@/ui/field";
import { count, tokens } from "@/ui/figures";
import { Answer } from "@/ui/states";
import { useOrder } from "@/ui/toasts";

/** What rooms learned: looked through, changed, forgotten and learned. room is the one that it is opened in. */
export function NotesDialog({ room, open, onClose }: { room?: string; open: string; onClose: () => void }) {
  const [typed, type] = useState("");
  const words = useDeferredValue(typed.trim());
  const [writing, write] = useState(false);
  const notes = useNotes(words);
  const add = useOrder(keep.add);
  return (
    <Dialog title="Notes" description="What rooms learned. A member of a room gets the notes that fit, once in its conversation." open onOpenChange={onClose} wide>
      <div className="flex flex-col gap-4">
        <ToLearn room={room} />
        <div className="flex flex-wrap items-end gap-2">
          <div className="min-w-48 grow">
            <Field label="Search notes" hidden>
              {(ids) => <Input {...ids} type="search" placeholder="Words" value={typed} onChange={(e) => type(e.target.value)} />}
            </Field>
          </div>
          <Button onClick={() => write(true)}>Write a note…</Button>
        </div>
        {writing && <NoteForm action="Note it" busy={add.isPending} onCancel={() => write(false)} onGive={({ files, ...w }) => add.mutate({ ...w, about: { files } }, { onSuccess: () => write(false) })} />}
        <Answer query={notes}>
          {({ items }) =>
            items.length === 0 ? (
              <p className="text-muted">{words === "" ? "There are no notes yet." : "No note has these words."}</p>
            ) : (
              <ul aria-label="Notes" className="flex flex-col gap-2">
                {items.map((n) => (
                  <NoteItem key={n.id} note={n} open={n.id === open} />
                ))}
              </ul>
            )
          }
        </Answer>
      </div>
    </Dialog>
  );
}

/** The rooms that nobody has learned from: in a room that one alone. */
function ToLearn({ room }: { room?: string | undefined }) {
  const due = useDue();
  const all = (due.data?.items ?? []).filter((d) => (room === undefined ? d.why !== "" : d.room === room));
  if (all.length === 0) {
    return null;
  }
  return (
    <ul aria-label="Rooms to learn from" className="flex flex-col gap-2">
      {all.map((d) => (
        <DueItem key={d.room} due={d} />
      ))}
    </ul>
  );
}

function learnedText({ data }: { data?: Api<"MemoryLearned"> }): string {
  if (data === undefined) {
    return "Learned.";
  }
  return `${count(data.notes.length, "new note")} from ${data.room}.${data.why === "" ? "" : ` ${data.why}.`}`;
}

function DueItem({ due: d }: { due: Due }) {
  const learn = useOrder(keep.learn, learnedText);
  const counts = d.by === "heuristic";
  return (
    <li className="flex flex-wrap items-center gap-2 rounded-lg border border-line bg-sunken px-3 py-2">
      <p className="min-w-0 grow wrap-anywhere">
        {`${count(d.messages, "message")} of ${d.room}`}
        <span className="text-muted">{`${d.why === "" ? ": nobody has learned from them" : `: ${d.why}`}. ${counts ? "No program is asked." : `It takes ${d.by} ${d.model} about ${tokens(d.tokens)} tokens.`}`}</span>
      </p>
      {!counts && (
        <Button busy={learn.isPending} title="Members, turns, tokens, decisions, and what each program did" onClick={() => learn.mutate({ room: d.room, heuristic: true })}>
          Only count
        </Button>
      )}
      <Button tone="accent" busy={learn.isPending} onClick={() => learn.mutate({ room: d.room })}>
        Learn from it
      </Button>
    </li>
  );
}
