import { Part } from "@/needs/pieces";
import { visible } from "@/changes/visible";
import { calledBy, toneOfMember, useRoom, type Room } from "@/rooms/rooms";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Failed, Loading } from "@/ui/states";

/** How the room stands in which something waits: its members, and what was said last. */
export function RoomCase({ name }: { name: string }) {
  const room = useRoom(name);
  if (room.data === undefined) {
    return room.error ? <Failed error={room.error} retry={() => void room.refetch()} /> : <Loading rows={2} />;
  }
  return <Stand view={room.data} />;
}

function Stand({ view: { room: r, members } }: { view: Room }) {
  return (
    <>
      {r.topic !== "" && (
        <Part title="Topic">
          <p className="line-clamp-3 max-w-prose wrap-anywhere">{visible(r.topic)}</p>
        </Part>
      )}
      <Part title="Members">
        <ul aria-label="Members" className="flex flex-col gap-1">
          {members.map((m) => (
            <li key={m.name} className="flex flex-wrap items-center gap-x-2">
              <strong className="wrap-anywhere">{m.name}</strong>
              <Label tone={toneOfMember(m)}>{m.state}</Label>
              {m.unread > 0 && <span className="text-muted">{count(m.unread, "unread message")}</span>}
            </li>
          ))}
        </ul>
      </Part>
      <Part title="Said last">
        {r.last === "" ? <p className="text-muted">Nothing was said yet.</p> : <p className="max-w-prose wrap-anywhere">{`${calledBy(r.last_by)}: ${visible(r.last)}`}</p>}
        <p className="text-muted">{`${r.round > 0 ? `Round ${r.round}: ${count(r.turns, "turn")}, ${tokens(r.used)} tokens. ` : ""}${tokens(r.total)} tokens in all.`}</p>
      </Part>
    </>
  );
}
