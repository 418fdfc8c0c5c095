import { CircleAlert } from "lucide-react";

import { visible } from "@/changes/visible";
import { AnswerForm } from "@/needs/AnswerForm";
import { give, type Room, type Wait } from "@/rooms/rooms";
import { saidOf, shownWaits, waysOf, type Way } from "@/rooms/waits";
import { Button } from "@/ui/button";
import { LinkButton } from "@/ui/LinkButton";
import { useOrder } from "@/ui/toasts";

/** What the room waits for, with what the person can do about it. */
export function Waits({ view }: { view: Room }) {
  const waits = shownWaits(view.waits);
  if (waits.length === 0) {
    return null;
  }
  return (
    <section aria-label="What waits for you" className="max-h-[40%] shrink-0 overflow-auto border-t border-warn bg-warn-soft">
      <ul>
        {waits.map((w) => (
          <WaitRow key={`${w.who} ${w.try}`} wait={w} view={view} />
        ))}
      </ul>
    </section>
  );
}

function WaitRow({ wait, view }: { wait: Wait; view: Room }) {
  const ways = waysOf(wait, view.members);
  return (
    <li className="flex flex-wrap items-center gap-2 px-4 py-2">
      <CircleAlert aria-hidden size={16} className="shrink-0 text-warn" />
      <p className="min-w-0 grow basis-60 wrap-anywhere">{visible(saidOf(wait))}</p>
      {ways.map((w) => (
        <WayButton key={`${w.type} ${"label" in w ? w.label : ""}`} way={w} room={view.room.name} />
      ))}
    </li>
  );
}

function WayButton({ way, room }: { way: Way; room: string }) {
  const order = useOrder(give.order);
  const answer = useOrder(give.answer, (_, { name }) => `${name} is answered.`);
  switch (way.type) {
    case "order":
      return (
        <Button busy={order.isPending} onClick={() => order.mutate({ room, ...way.order })}>
          {way.label}
        </Button>
      );
    case "answer":
      return (
        <div className="w-full max-w-prose">
          <AnswerForm of={way.name} busy={answer.isPending} send={({ text }) => answer.mutate({ room, name: way.name, text })} />
        </div>
      );
    case "agent":
      return <LinkButton to={way.to}>{way.label}</LinkButton>;
    case "command":
      return <code className="wrap-anywhere">{way.command}</code>;
  }
}
