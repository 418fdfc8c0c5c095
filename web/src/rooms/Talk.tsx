import { useCallback, useMemo, useState } from "react";

import { api, hooks } from "@/api/client";
import { visible } from "@/changes/visible";
import { useNewest } from "@/live/newest";
import { Composer } from "@/rooms/Composer";
import { useLines } from "@/rooms/lines";
import type { MessageDeeds } from "@/rooms/MessageView";
import type { Message, Room } from "@/rooms/rooms";
import { TalkEntry } from "@/rooms/TalkEntry";
import { timeline, type Entry } from "@/rooms/timeline";
import { Waits } from "@/rooms/Waits";
import { VirtualList } from "@/ui/list";
import { Empty, Failed, Loading } from "@/ui/states";
import { complain } from "@/ui/toasts";

const pageSize = 50;

/** The messages and the facts between them, the newest at the end. */
function useTalk(room: string, members: string) {
  const path = { room };
  const head = hooks.useQuery("get", "/api/rooms/{room}/messages", { params: { path, query: { limit: pageSize } } });
  const list = useNewest<Message>(head, async (cursor) => (await api.GET("/api/rooms/{room}/messages", { params: { path, query: { limit: pageSize, cursor } } })).data, (m) => m.n);
  const { items, hasMore } = list;
  const lines = useLines(room, items === undefined ? undefined : hasMore ? items.at(-1)?.n : 1);
  const entries = useMemo(() => (items === undefined || lines.lines === undefined ? undefined : timeline(items, lines.lines, members.split(" "))), [items, lines.lines, members]);
  const again = () => {
    void head.refetch();
    lines.again();
  };
  return { entries, more: list.more, error: entries === undefined ? (head.error ?? lines.error) : undefined, again };
}

/** Whether a message is in an entry. */
function has(e: Entry, n: number): boolean {
  return e.type === "message" ? e.message.n === n : e.type === "blind" && e.messages.some((m) => m.n === n);
}

/** What is said in the room, what it waits for, and the field to write in. */
export function Talk({ view, prompt }: { view: Room; prompt: (turn: string, member: string) => void }) {
  const { room } = view;
  const talk = useTalk(room.name, view.members.map((m) => m.name).join(" ")); // names have no spaces
  const [re, answer] = useState<Message>();
  const [sent, send] = useState<number>();
  const [shown, show] = useState<number>();
  const { entries } = talk;
  const closed = room.phase === "closed";
  const goTo = useCallback(
    (n: number) => {
      const at = entries?.findIndex((e) => has(e, n)) ?? -1;
      if (at < 0) {
        complain(new Error(`Message #${n} is further up: scroll there first.`));
        return;
      }
      show(undefined);
      requestAnimationFrame(() => show(at));
    },
    [entries],
  );
  const deeds = useMemo((): MessageDeeds => ({ room: room.name, reply: closed ? undefined : answer, show: goTo, prompt }), [room.name, closed, goTo, prompt]);
  return (
    <div className="flex h-full min-h-0 flex-col">
      {room.topic !== "" && (
        <p className="shrink-0 truncate border-b border-line px-4 py-1 text-muted" title={visible(room.topic)}>
          {visible(room.topic)}
        </p>
      )}
      <div className="min-h-0 grow">
        {entries === undefined ? (
          talk.error === null || talk.error === undefined ? (
            <Loading rows={8} />
          ) : (
            <Failed error={talk.error} retry={talk.again} />
          )
        ) : (
          <VirtualList label={`Talk in ${room.name}`} items={entries} keyOf={(e) => e.key} estimate={72} follow more={talk.more} latest={sent} show={shown} row={(e) => <TalkEntry entry={e} deeds={deeds} />} />
        )}
      </div>
      {entries !== undefined && room.messages === 0 && <Empty title="Nothing was said yet">Ask the members something below.</Empty>}
      <Waits view={view} />
      <Composer view={view} re={re} forget={() => answer(undefined)} onSent={() => send((n = 0) => n + 1)} />
    </div>
  );
}
