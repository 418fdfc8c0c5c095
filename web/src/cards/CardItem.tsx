import { CircleAlert, MoreHorizontal } from "lucide-react";
import { useState } from "react";
import { Link } from "react-router";

import { visible } from "@/changes/visible";
import { TextDialog } from "@/agents/AgentDialogs";
import { actionsOf, buttonOf, checksOf, give, named, roles, saysOf, toneOf, type Action, type Card, type Move } from "@/cards/cards";
import { Button, IconButton } from "@/ui/button";
import { Label } from "@/ui/label";
import { Menu, type MenuItem } from "@/ui/menu";
import { useOrder } from "@/ui/toasts";

interface ItemProps {
  card: Card;
  rooms: boolean;
  drag: (card: Card | undefined) => void;
  open: () => void;
  edit: () => void;
  ask: (move: Move) => void;
  moves: (side: -1 | 1) => void; // an arrow key
}

const acts: Readonly<Record<(typeof roles)[number], string>> = { coordinator: "leads", planner: "plans", implementer: "implements", reviewer: "reviews" };

/** A card on the board. */
export function CardItem({ card: c, rooms, drag, open, edit, ask, moves }: ItemProps) {
  const checks = checksOf(c);
  const who = roles.flatMap((r) => (c.card?.[r] ? [`${c.card[r]} ${acts[r]}`] : []));
  const room = c.card?.room ?? "";
  return (
    <li
      draggable={c.moves.length > 0}
      className="flex min-w-0 flex-col gap-1 rounded-md border border-line bg-surface p-2"
      onDragStart={(e) => {
        e.dataTransfer.effectAllowed = "move";
        e.dataTransfer.setData("text/plain", c.id);
        drag(c);
      }}
      onDragEnd={() => drag(undefined)}
    >
      <div className="flex items-start gap-1">
        <button
          id={buttonOf(c.id)}
          type="button"
          aria-label={named(c)}
          aria-keyshortcuts="ArrowLeft ArrowRight ArrowUp ArrowDown"
          className="min-h-6 min-w-0 grow text-left font-medium wrap-anywhere hover:underline"
          onClick={open}
          onKeyDown={(e) => press(e, moves)}
        >
          <span className="text-muted">{c.id}</span> {visible(c.title)}
        </button>
        <CardMenu card={c} edit={edit} ask={ask} />
      </div>
      <p className="flex flex-wrap items-center gap-1.5">
        <Label tone={toneOf(c)} className="whitespace-normal! wrap-anywhere">
          {visible(c.label)}
        </Label>
        {checks.text !== "" && (checks.bad ? <Label tone="bad">{checks.text}</Label> : <span className="text-muted">{checks.text}</span>)}
      </p>
      {rooms && (
        <p className="text-muted">
          Room{" "}
          <Link to={`/rooms/${encodeURIComponent(room)}?card=${encodeURIComponent(c.id)}`} draggable={false} className="text-accent underline wrap-anywhere">
            {room}
          </Link>
        </p>
      )}
      <p className="text-muted wrap-anywhere">{who.length === 0 ? "Nobody has a role yet" : who.join(", ")}</p>
      <CardActions card={c} open={open} edit={edit} ask={ask} />
    </li>
  );
}

/** Left and right ask for a move, up and down go to the next card of the column. */
function press(e: React.KeyboardEvent<HTMLElement>, moves: (side: -1 | 1) => void): void {
  if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) {
    return;
  }
  if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
    e.preventDefault();
    moves(e.key === "ArrowLeft" ? -1 : 1);
  } else if (e.key === "ArrowUp" || e.key === "ArrowDown") {
    const item = e.currentTarget.closest("li");
    const next = e.key === "ArrowUp" ? item?.previousElementSibling : item?.nextElementSibling;
    next?.querySelector("button")?.focus();
    e.preventDefault();
  }
}

interface ActionProps {
  card: Card;
  open: () => void;
  edit: () => void;
  ask: (move: Move) => void;
}

/** What waits for the person, or begins the card. */
export function CardActions({ card: c, open, edit, ask }: ActionProps) {
  const start = useOrder(give.start);
  const delegate = useOrder(give.delegate, `The room is asked who does what about ${c.id}.`);
  const run = (a: Action) => {
    switch (a.type) {
      case "move":
        { ask(a.move); return; }
      case "start":
        { start.mutate({ id: c.id, version: c.version }); return; }
      case "delegate":
        { delegate.mutate({ id: c.id, version: c.version }); return; }
      case "edit":
        { edit(); return; }
      case "open":
        { open(); return; }
    }
  };
  const all = actionsOf(c);
  if (all.length === 0) {
    return null;
  }
  return (
    <p className="flex flex-wrap items-center gap-1.5">
      {c.needs !== "" && <CircleAlert aria-hidden size={15} className="shrink-0 text-warn" />}
      {all.map((a) => (
        <Button key={a.label} aria-label={`${a.label.replace("…", "")}: ${c.id}`} busy={start.isPending || delegate.isPending} onClick={() => run(a)}>
          {a.label}
        </Button>
      ))}
    </p>
  );
}

/** Every move that the rule allows, and what else can be done. */
export function CardMenu({ card: c, edit, ask }: Omit<ActionProps, "open">) {
  const [cancelling, cancel] = useState(false);
  const delegate = useOrder(give.delegate, `The room is asked who does what about ${c.id}.`);
  const items: MenuItem[] = [
    ...c.moves.map((m): MenuItem => ({ label: `${saysOf(c, m).label}…`, run: () => ask(m), bad: m.do === "done" })),
    { label: "Edit card…", run: edit, disabled: c.column === "done" || c.column === "" },
    ...(c.column === "backlog" && c.card?.phase !== "delegating" ? [{ label: "Ask the room who does what", run: () => delegate.mutate({ id: c.id, version: c.version }) }] : []),
    { label: "Cancel card…", run: () => cancel(true), bad: true, disabled: c.state === "done" || c.column === "done" || c.column === "" },
  ];
  return (
    <>
      <Menu
        trigger={
          <IconButton label={`Actions for ${c.id}`} className="min-h-6 shrink-0">
            <MoreHorizontal size={16} className="shrink-0" />
          </IconButton>
        }
        items={items}
      />
      {cancelling && (
        <TextDialog title={`Cancel ${c.id}`} label="Reason" hint="The agent of its work is told to stop. What was done is kept." action="Cancel card" give={(reason) => give.cancel({ id: c.id, version: c.version, reason })} done={`${c.id} is cancelled.`} optional onClose={() => cancel(false)} />
      )}
    </>
  );
}
