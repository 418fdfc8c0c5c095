import { CircleAlert } from "lucide-react";

import { give as ofAgent } from "@/agents/give";
import { api, hooks } from "@/api/client";
import { visible } from "@/changes/visible";
import { AnswerForm } from "@/needs/AnswerForm";
import { give, type Room, type Wait } from "@/rooms/rooms";
import { waysOf, type Way } from "@/rooms/waits";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";
import { LinkButton } from "@/ui/LinkButton";
import { useOrder } from "@/ui/toasts";

/** What the room waits for, with what the person can do about it. */
export function Waits({ view }: { view: Room }) {
  if (view.waits.length === 0) {
    return null;
  }
  return (
    <section aria-label="What waits for you" className="max-h-[40%] shrink-0 overflow-auto border-t border-warn bg-warn-soft">
      <ul>
        {view.waits.map((w) => (
          <WaitRow key={`${w.who} ${w.try}`} wait={w} view={view} />
        ))}
      </ul>
    </section>
  );
}

function WaitRow({ wait, view }: { wait: Wait; view: Room }) {
  const ways = waysOf(wait, view.members, view.room.name);
  const [asks] = ways;
  if (asks?.type === "answer") {
    return (
      <li className="px-4 py-2">
        <Asked {...asks} said={wait.what} room={view.room.name} />
      </li>
    );
  }
  return (
    <li className="flex flex-wrap items-center gap-2 px-4 py-2">
      <CircleAlert aria-hidden size={16} className="shrink-0 text-warn" />
      <p className={`min-w-0 grow basis-40 wrap-anywhere ${wait.who === "" ? "first-letter:uppercase" : ""}`}>{visible(wait.what)}</p>
      {ways.map((w) => w.type !== "answer" && <WayButton key={`${w.type} ${"label" in w ? w.label : ""}`} way={w} room={view.room.name} />)}
    </li>
  );
}

/** A question of a member, with its options, and the field for the answer. */
function Asked({ name, agent, said, room }: { name: string; agent: string; said: string; room: string }) {
  const question = hooks.useQuery("get", "/api/agents/{name}", { params: { path: { name: agent } } }).data?.question;
  const answer = useOrder(({ text, question }: { text: string; question: string }) => (question === "" ? give.answer({ room, name, text }) : ofAgent.answer({ name: agent, text, question })), `${name} is answered.`);
  return (
    <div className="flex max-w-prose flex-col gap-1">
      <p className="flex items-center gap-2">
        <CircleAlert aria-hidden size={16} className="shrink-0 text-warn" />
        <span className="min-w-0 wrap-anywhere">{question === undefined ? visible(said) : `${name} asks:`}</span>
      </p>
      <AnswerForm of={name} question={question} busy={answer.isPending} send={(given) => answer.mutate(given)} />
    </div>
  );
}

function WayButton({ way, room }: { way: Exclude<Way, { type: "answer" }>; room: string }) {
  const order = useOrder(give.order);
  switch (way.type) {
    case "order":
      return (
        <Button busy={order.isPending} onClick={() => order.mutate({ room, ...way.order })}>
          {way.label}
        </Button>
      );
    case "page":
      return <LinkButton to={way.to}>{way.label}</LinkButton>;
    case "told":
      return <code className="wrap-anywhere text-muted">{way.command}</code>;
    case "undo":
      return <Changed incident={way.incident} room={room} />;
    case "command":
      return (
        <>
          <LinkButton to="?settings">Settings</LinkButton>
          <Button busy={order.isPending} onClick={() => order.mutate({ room, do: "continue" })}>
            Continue the round
          </Button>
          <code className="wrap-anywhere text-muted">{way.command}</code>
        </>
      );
  }
}

/** A change at the checkout that a member may have made: it is taken back, or it was the person's. */
function Changed({ incident, room }: { incident: string; room: string }) {
  const undo = useOrder(give.undo);
  const mine = useOrder((id: string) => api.POST("/api/incidents/{id}/ack", { params: { path: { id } }, body: { note: "It was me.", close: true } }), "The incident is closed.");
  return (
    <>
      <Confirm
        busy={undo.isPending}
        title="Undo the change?"
        text="The files, what is staged and what is checked out become what they were before the turn. What is there now is saved as a snapshot first. Nothing is undone where the same files have changed since."
        action="Undo"
        onConfirm={() => undo.mutate(room)}
      >
        Undo the change
      </Confirm>
      <Button busy={mine.isPending} onClick={() => mine.mutate(incident)}>
        It was me
      </Button>
      <LinkButton to={`/health?tab=incidents&incident=${encodeURIComponent(incident)}`}>What changed</LinkButton>
    </>
  );
}
