import { useCallback, useState } from "react";
import { useSearchParams } from "react-router";

import type { Card, Move, Proposal } from "@/cards/cards";

/** A card that is made or edited. */
export interface Edited {
  room: string;
  card?: Card;
  todo?: Proposal;
}

/** What is open about cards. It is kept above the board, which another width of the window sets up again. */
export interface CardState {
  opened: string | null; // the id of a card; the address names it
  open: (id: string | undefined) => void;
  edited: Edited | undefined;
  edit: (what: Edited | undefined) => void;
  asked: { card: Card; move: Move } | undefined;
  ask: (what: { card: Card; move: Move } | undefined) => void;
  moved: string | undefined; // the card that the focus follows
  follow: (id: string) => void;
}

export function useCardState(): CardState {
  const [edited, edit] = useState<Edited>();
  const [asked, ask] = useState<{ card: Card; move: Move }>();
  const [moved, follow] = useState<string>();
  const [params, setParams] = useSearchParams();
  const open = useCallback(
    (id: string | undefined) =>
      setParams(
        (was) => {
          const next = new URLSearchParams(was);
          if (id === undefined) {
            next.delete("card");
          } else {
            next.set("card", id);
          }
          return next;
        },
        { replace: true },
      ),
    [setParams],
  );
  return { opened: params.get("card"), open, edited, edit, asked, ask, moved, follow };
}
