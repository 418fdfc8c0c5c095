import { useEffect, useState } from "react";

import { CardItem } from "@/cards/CardItem";
import { buttonOf, byColumn, columns, give, moveTo, toward, type Card, type Column, type Move } from "@/cards/cards";
import type { CardState } from "@/cards/state";
import { useOrder } from "@/ui/toasts";

interface BoardProps {
  cards: readonly Card[];
  rooms: boolean; // of several rooms: each card says of which
  state: CardState;
}

/**
 * The cards in their columns: beside each other where there is room, else below each other. A
 * card is dragged where the rule allows it; the arrow keys ask for the same moves.
 */
export function CardBoard({ cards, rooms, state: { open, edit, ask, moved } }: BoardProps) {
  const [dragged, drag] = useState<Card>();
  const refused = useOrder(give.move); // the server says why
  const placed = byColumn(cards);
  useFollowed(cards, moved);
  const moves = (card: Card, side: -1 | 1) => {
    const wish = toward(card, side);
    if (wish === undefined) {
      return;
    }
    if ("move" in wish) {
      ask({ card, move: wish.move });
    } else {
      refused.mutate({ id: card.id, version: card.version, to: wish.to });
    }
  };
  return (
    <div className="@container min-h-0 grow overflow-auto p-2">
      <div role="group" aria-label="Board of cards" className="grid gap-2 @3xl:min-h-full @3xl:grid-cols-5">
        {columns.map(([column, label]) => (
          <ColumnOf
            key={column}
            column={column}
            label={label}
            cards={placed.get(column) ?? []}
            dragged={dragged}
            drop={(card, move) => ask({ card, move })}
            item={(card) => <CardItem key={card.id} card={card} rooms={rooms} drag={drag} open={() => open(card.id)} edit={() => edit({ room: card.card?.room ?? "", card })} ask={(move) => ask({ card, move })} moves={(side) => moves(card, side)} />}
          />
        ))}
      </div>
    </div>
  );
}

/** Has the focus follow a card into its new column, unless the person went elsewhere. */
function useFollowed(cards: readonly Card[], moved: CardState["moved"]): void {
  useEffect(() => {
    if (moved !== undefined && (document.activeElement === null || document.activeElement === document.body)) {
      document.getElementById(buttonOf(moved))?.focus();
    }
  }, [cards, moved]);
}

interface ColumnProps {
  column: Column;
  label: string;
  cards: readonly Card[];
  dragged: Card | undefined;
  drop: (card: Card, move: Move) => void;
  item: (card: Card) => React.ReactNode;
}

function ColumnOf({ column, label, cards, dragged, drop, item }: ColumnProps) {
  const move = dragged && moveTo(dragged, column);
  return (
    <section
      aria-label={`${label}, ${cards.length}`}
      className={`flex min-w-0 flex-col rounded-lg border bg-sunken ${move === undefined ? "border-line" : "border-accent"} ${dragged && move === undefined && dragged.column !== column ? "opacity-60" : ""}`}
      onDragOver={(e) => {
        if (move !== undefined) {
          e.preventDefault();
          e.dataTransfer.dropEffect = "move";
        }
      }}
      onDrop={(e) => {
        if (move !== undefined && dragged) {
          e.preventDefault();
          drop(dragged, move);
        }
      }}
    >
      <h2 className="flex items-center gap-1.5 px-2 py-1.5 font-semibold">
        {label}
        <span className="rounded bg-surface px-1.5 font-medium text-muted">{cards.length}</span>
      </h2>
      {cards.length > 0 && <ul className="flex flex-col gap-2 px-2 pb-2">{cards.map(item)}</ul>}
    </section>
  );
}
