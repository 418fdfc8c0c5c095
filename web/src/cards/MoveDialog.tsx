import { useState } from "react";

import { give, saysOf, type Card, type Move } from "@/cards/cards";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Textarea } from "@/ui/field";
import { useOrder } from "@/ui/toasts";

interface MoveProps {
  card: Card;
  move: Move;
  onClose: () => void;
  onMoved: () => void;
}

/** Says what a move does, and asks for what it needs. */
export function MoveDialog({ card: c, move: m, onClose, onMoved }: MoveProps) {
  const [text, setText] = useState("");
  const order = useOrder(give.move, (out) => `${c.id}: ${out.data?.label ?? "moved"}.`);
  const says = saysOf(c, m);
  const why = m.asks === "why";
  const sure = m.asks === "sure";
  return (
    <Dialog title={says.title} open onOpenChange={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          order.mutate({ id: c.id, version: c.version, to: m.to, ...(text.trim() === "" ? {} : { text: text.trim() }), ...(sure ? { sure } : {}) }, { onSuccess: onMoved });
        }}
      >
        <p className="font-medium wrap-anywhere">{c.title}</p>
        <p>{says.text}</p>
        {(why || sure) && (
          <Field label={why ? "What must change" : "Reason"} hint={sure ? "Optional. It is kept in the card's history." : undefined}>
            {(ids) => <Textarea {...ids} value={text} maxLength={why ? 20_000 : 1000} onChange={(e) => setText(e.target.value)} />}
          </Field>
        )}
        <div className="flex justify-end gap-2">
          <Button data-first={why ? undefined : ""} onClick={onClose}>
            Go back
          </Button>
          <Button type="submit" tone={sure ? "bad" : "accent"} busy={order.isPending} disabled={why && text.trim() === ""}>
            {says.action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
