import { ListTodo, Plus } from "lucide-react";

import { visible } from "@/changes/visible";
import { CardBoard } from "@/cards/CardBoard";
import { CardDialogs } from "@/cards/CardDialogs";
import { useCards, useProposals, type Proposal } from "@/cards/cards";
import { useCardState, type CardState } from "@/cards/state";
import { Button } from "@/ui/button";
import { Answer, Empty } from "@/ui/states";

/** The cards of all rooms. */
export function AllCards() {
  const state = useCardState();
  return (
    <>
      <Cards room="" state={state} />
      <CardDialogs state={state} />
    </>
  );
}

/** The cards of a room as a board; without one, those of all rooms. */
export function Cards({ room, state }: { room: string; state: CardState }) {
  const cards = useCards(room);
  const proposals = useProposals(room).data?.items ?? [];
  const add = room !== "" && (
    <Button icon={<Plus aria-hidden size={15} />} onClick={() => state.edit({ room })}>
      Add a card
    </Button>
  );
  return (
    <Answer query={cards}>
      {({ items }) => (
        <>
          {proposals.length > 0 && <Proposals all={proposals} rooms={room === ""} make={(todo) => state.edit({ room: todo.room, todo })} />}
          {items.length === 0 && proposals.length === 0 ? (
            <Empty title="There is no card yet" action={add}>
              {room === "" ? "A card is a task of a room: its members plan and review it, and a worker like one of them does the work. Add one in a room." : "A card is a task of this room: its members plan and review it, and a worker like one of them does the work. Members propose cards with [TODO]."}
            </Empty>
          ) : (
            <>
              {add && <p className="px-2 pt-2">{add}</p>}
              <CardBoard cards={items} rooms={room === ""} state={state} />
            </>
          )}
        </>
      )}
    </Answer>
  );
}

function Proposals({ all, rooms, make }: { all: readonly Proposal[]; rooms: boolean; make: (todo: Proposal) => void }) {
  return (
    <section aria-label="Proposed cards" className="max-h-40 shrink-0 overflow-y-auto border-b border-line">
      <ul>
        {all.map((t) => (
          <li key={`${t.room} ${t.id}`} className="flex flex-wrap items-center gap-2 px-3 py-1.5">
            <ListTodo aria-hidden size={15} className="shrink-0 text-muted" />
            <span className="min-w-0 grow basis-40 wrap-anywhere">{`${t.by}${rooms ? ` in ${t.room}` : ""}: ${visible(t.text)}`}</span>
            <Button onClick={() => make(t)}>Make a card</Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
