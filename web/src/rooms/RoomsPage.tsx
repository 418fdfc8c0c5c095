import { Plus } from "lucide-react";
import { useState } from "react";
import { Link, useSearchParams } from "react-router";

import { visible } from "@/changes/visible";
import { NotesButton } from "@/memory/NotesButton";
import { BeginDialog } from "@/rooms/BeginDialog";
import { RoomMenu } from "@/rooms/RoomMenu";
import { calledBy, found, matches, toneOfRoom, useRooms, type Room } from "@/rooms/rooms";
import { Button } from "@/ui/button";
import { Field, Input } from "@/ui/field";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Page } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";
import { Ago } from "@/ui/time";

/** All rooms, and how to begin one. */
export default function RoomsPage() {
  const rooms = useRooms();
  const [typed, type] = useState("");
  const [params, setParams] = useSearchParams();
  const beginning = params.has("begin"); // the palette leads to it
  const begin = (on: boolean) => setParams(on ? { begin: "" } : {}, { replace: true });
  const button = (
    <Button tone="accent" icon={<Plus aria-hidden size={16} />} onClick={() => begin(true)}>
      Begin a room
    </Button>
  );
  const all = rooms.data?.items ?? [];
  const seen = all.filter((r) => matches(r, typed));
  const some = all.length > 0;
  return (
    <Page
      title="Rooms"
      about={rooms.data && <span role="status">{found(seen.length, all.length, typed)}</span>}
      actions={
        <>
          <NotesButton />
          {some && (
            <>
            <Field label="Find a room" hidden>
              {(ids) => <Input {...ids} type="search" placeholder="Find" value={typed} onChange={(e) => type(e.target.value)} />}
            </Field>
            {button}
            </>
          )}
        </>
      }
      ready={!rooms.isPending}
    >
      <Answer query={rooms}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="There is no room yet" action={button}>
              A room is one conversation between you and several agents. You ask, all of them answer, they react to each other, and the room comes to rest when nobody has anything to add.
            </Empty>
          ) : (
            <List rooms={seen} clear={() => type("")} />
          )
        }
      </Answer>
      {beginning && <BeginDialog onClose={() => begin(false)} />}
    </Page>
  );
}

function List({ rooms, clear }: { rooms: readonly Room[]; clear: () => void }) {
  if (rooms.length === 0) {
    return (
      <Empty title="No room matches" action={<Button onClick={clear}>Show all rooms</Button>}>
        Every word must stand in the name, the topic, the state, the last words, or in a member&apos;s name, kind or role. The search on the Explorer page finds what was said earlier.
      </Empty>
    );
  }
  return (
    <ul aria-label="Rooms" className="flex flex-col gap-3 p-4">
      {rooms.map((r) => (
        <RoomCard key={r.room.name} view={r} />
      ))}
    </ul>
  );
}

function RoomCard({ view }: { view: Room }) {
  const { room: r, members, waits } = view;
  return (
    <li className="flex min-w-0 flex-col gap-1 rounded-lg border border-line bg-surface p-3">
      <div className="flex flex-wrap items-center gap-2">
        <Link to={`/rooms/${encodeURIComponent(r.name)}`} className="font-semibold wrap-anywhere hover:underline">
          {r.name}
        </Link>
        <Label tone={toneOfRoom(r)}>{r.label}</Label>
        {waits.length > 0 && <Label tone="warn">{count(waits.length, "thing waits", "things wait")}</Label>}
        <span className="ml-auto text-muted">
          <Ago at={r.at} />
        </span>
        <RoomMenu view={view} />
      </div>
      {r.topic !== "" && <p className="line-clamp-2 wrap-anywhere">{visible(r.topic)}</p>}
      {r.last !== "" && (
        <p className="flex gap-1.5 text-muted">
          <span className="shrink-0">{`${calledBy(r.last_by)}:`}</span>
          <span className="min-w-0 truncate">{visible(r.last)}</span>
        </p>
      )}
      <p className="flex flex-wrap gap-x-3 text-muted">
        <span className="wrap-anywhere">{members.map((m) => m.name).join(", ")}</span>
        <span>{count(r.messages, "message")}</span>
        <span>{`${tokens(r.total)} tokens`}</span>
      </p>
    </li>
  );
}
