import { Pin, PinOff } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Link } from "react-router";

import { visible } from "@/changes/visible";
import { NoteForm } from "@/memory/NoteForm";
import { keep, kinds, makerOf, useWhy, type Note } from "@/memory/notes";
import { Button } from "@/ui/button";
import { count } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Answer } from "@/ui/states";
import { Ago } from "@/ui/time";
import { useOrder } from "@/ui/toasts";

type Shown = "why" | "edit" | "forget";

/** A note, and what a person can do with it. */
export function NoteItem({ note: n, open }: { note: Note; open: boolean }) {
  const [shown, show] = useState<Shown | undefined>(open ? "why" : undefined);
  const change = useOrder(keep.change);
  const promote = useOrder(keep.promote, `${n.id} is in MEMORY.md now.`);
  const toggle = (what: Shown) => show(shown === what ? undefined : what);
  return (
    <li aria-label={n.id} className="flex min-w-0 flex-col gap-1.5 rounded-lg border border-line px-3 py-2">
      <p className="wrap-anywhere whitespace-pre-wrap">{visible(n.text)}</p>
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-muted">
        <strong>{n.id}</strong>
        <Label tone="muted">{kinds.find(([k]) => k === n.kind)?.[1] ?? n.kind}</Label>
        {n.pinned && <Label tone="info">pinned</Label>}
        <span>{`by ${makerOf(n.by)}`}</span>
        {n.from !== null && <span className="wrap-anywhere">{`from ${n.from.room}`}</span>}
        <Ago at={n.at} />
        {n.used.length > 0 && <span>{`given to ${count(n.used.length, "turn")}`}</span>}
        {(n.about.files ?? []).map((f) => (
          <code key={f} className="wrap-anywhere">
            {visible(f)}
          </code>
        ))}
      </p>
      <div className="flex flex-wrap gap-1">
        <Button tone="quiet" aria-expanded={shown === "why"} onClick={() => toggle("why")}>
          Why
        </Button>
        <Button tone="quiet" aria-expanded={shown === "edit"} onClick={() => toggle("edit")}>
          Edit
        </Button>
        <Button tone="quiet" busy={change.isPending} icon={n.pinned ? <PinOff aria-hidden size={15} /> : <Pin aria-hidden size={15} />} title="Members of every room get a pinned note" onClick={() => change.mutate({ id: n.id, pinned: !n.pinned })}>
          {n.pinned ? "Unpin" : "Pin"}
        </Button>
        <Button tone="quiet" busy={promote.isPending} title="Moves it to the end of MEMORY.md, which every agent reads" onClick={() => promote.mutate(n.id)}>
          Move to MEMORY.md
        </Button>
        <Button tone="quiet" aria-expanded={shown === "forget"} onClick={() => toggle("forget")}>
          Forget…
        </Button>
      </div>
      {shown === "why" && <Why id={n.id} />}
      {shown === "edit" && <NoteForm note={n} action="Change it" busy={change.isPending} onCancel={() => show(undefined)} onGive={(w) => change.mutate({ id: n.id, ...w }, { onSuccess: () => show(undefined) })} />}
      {shown === "forget" && <Forget id={n.id} onCancel={() => show(undefined)} />}
    </li>
  );
}

/** Asks before a note is forgotten. */
function Forget({ id, onCancel }: { id: string; onCancel: () => void }) {
  const [erase, setErase] = useState(false);
  const forget = useOrder(keep.forget, `${id} is forgotten.`);
  return (
    <div role="group" aria-label={`Forget ${id}`} className="flex flex-col gap-2 border-l-2 border-bad pl-3">
      <p>No member gets it any more, and nothing learns it again.</p>
      <label className="flex min-h-6 items-center gap-2">
        <input type="checkbox" checked={erase} onChange={(e) => setErase(e.target.checked)} />
        Take its text out of the file, too
      </label>
      <div className="flex gap-2">
        <Button onClick={onCancel}>Go back</Button>
        <Button tone="bad" busy={forget.isPending} onClick={() => forget.mutate({ id, erase })}>
          Forget it
        </Button>
      </div>
    </div>
  );
}

/** Where a note comes from, and which turns got it. */
function Why({ id }: { id: string }) {
  const why = useWhy(id);
  return (
    <div role="group" aria-label={`Why ${id}`} className="flex flex-col gap-2 border-l-2 border-line-strong pl-3">
      <Answer query={why}>
        {({ note, messages, missing, uses }) => (
          <>
            {note.from === null ? (
              <p>You have written it.</p>
            ) : missing !== "" ? (
              <p>{`Its messages cannot be shown: ${missing}.`}</p>
            ) : (
              <>
                <p>
                  It comes from <RoomLink room={note.from.room}>{note.from.room}</RoomLink>:
                </p>
                <ul className="flex flex-col gap-1">
                  {messages.map((m) => (
                    <li key={m.n} className="min-w-0">
                      <p className="text-muted">{`${m.by}, #${m.n}`}</p>
                      <p className="line-clamp-6 wrap-anywhere whitespace-pre-wrap">{visible(m.text)}</p>
                    </li>
                  ))}
                </ul>
              </>
            )}
            {uses.length === 0 ? (
              <p className="text-muted">No turn got it yet.</p>
            ) : (
              <ul aria-label={`Turns that got ${id}`}>
                {uses.map((u) => (
                  <li key={`${u.room}/${u.turn}/${u.at}`}>
                    {`${u.turn} of ${u.member} in `}
                    <RoomLink room={u.room}>{u.room}</RoomLink>, <Ago at={u.at} />
                  </li>
                ))}
              </ul>
            )}
          </>
        )}
      </Answer>
    </div>
  );
}

function RoomLink({ room, children }: { room: string; children: ReactNode }) {
  return (
    <Link to={`/rooms/${encodeURIComponent(room)}`} className="text-accent underline wrap-anywhere">
      {children}
    </Link>
  );
}
