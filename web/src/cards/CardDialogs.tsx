import { CardDialog } from "@/cards/CardDialog";
import { CardForm } from "@/cards/CardForm";
import { MoveDialog } from "@/cards/MoveDialog";
import type { CardState } from "@/cards/state";

/** What is open about cards. */
export function CardDialogs({ state: { opened, open, edited, edit, asked, ask, follow } }: { state: CardState }) {
  return (
    <>
      {opened !== null && edited === undefined && <CardDialog id={opened} edit={(card) => edit({ room: card.card?.room ?? "", card })} onClose={() => open(undefined)} />}
      {edited && <CardForm {...edited} onClose={() => edit(undefined)} />}
      {asked && (
        <MoveDialog
          {...asked}
          onClose={() => ask(undefined)}
          onMoved={() => {
            follow(asked.card.id);
            ask(undefined);
          }}
        />
      )}
    </>
  );
}
