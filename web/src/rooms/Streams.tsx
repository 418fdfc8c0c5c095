import { ChevronDown, ChevronRight, LoaderCircle, UserMinus, UserPlus } from "lucide-react";
import { useMemo, useState } from "react";
import { Link } from "react-router";

import { visible } from "@/changes/visible";
import { Conversation } from "@/conversation/Conversation";
import { doingNow } from "@/conversation/now";
import { useConversation } from "@/conversation/source";
import { useLog } from "@/live/store";
import { give, toneOfMember, type Member, type Order, type Room } from "@/rooms/rooms";
import { writing } from "@/rooms/writing";
import { Button, IconButton } from "@/ui/button";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Ago, moment } from "@/ui/time";
import { useOrder } from "@/ui/toasts";

interface StreamsProps {
  view: Room;
  prompt: (turn: string, member: string) => void;
  invite: () => void;
  dismiss: (member: string) => void;
}

/** The members: what each is and does, and what can be ordered of it. */
export function Streams({ view, prompt, invite, dismiss }: StreamsProps) {
  return (
    <div className="flex h-full flex-col overflow-y-auto">
      <ul tabIndex={0} aria-label="Members" className="flex flex-col">
        {view.members.map((m) => (
          <MemberRow key={m.name} member={m} view={view} prompt={prompt} dismiss={dismiss} />
        ))}
      </ul>
      {view.room.phase !== "closed" && (
        <p className="flex flex-wrap items-center gap-3 p-3">
          <Button icon={<UserPlus aria-hidden size={15} />} onClick={invite}>
            Invite somebody
          </Button>
          <Link to="/personas" className="text-accent underline">
            Personas
          </Link>
        </p>
      )}
    </div>
  );
}

function MemberRow({ member: m, view: { room }, prompt, dismiss }: Omit<StreamsProps, "invite"> & { member: Member }) {
  const [open, setOpen] = useState(false);
  const order = useOrder(give.order);
  const ask = (what: Order["do"]) => order.mutate({ room: room.name, do: what, names: [m.name] });
  const stuck = m.state === "limited" || m.state === "needs input" || m.state === "taken over" || m.state === "down";
  const skips = m.turn !== "" || (stuck && m.unread > 0);
  const closed = room.phase === "closed";
  const kind = [m.kind, m.model, m.role].filter((x) => x !== "").join(" · ");
  return (
    <li className="flex flex-col gap-1 border-b border-line px-3 py-2">
      <div className="flex flex-wrap items-center gap-2">
        {m.guest ? (
          <strong className="min-w-0 wrap-anywhere">{m.name}</strong>
        ) : (
          <Link to={`/agents/${encodeURIComponent(m.agent)}`} title="Its conversation and terminal" className="min-w-0 font-semibold wrap-anywhere hover:underline">
            {m.name}
          </Link>
        )}
        <Label tone={toneOfMember(m)}>{m.state}</Label>
        {m.since !== undefined && <Ago at={m.since} className="text-muted tabular-nums" />}
        {!closed && (
          <IconButton label={`Dismiss ${m.name}`} className="ml-auto min-h-6 text-muted" onClick={() => dismiss(m.name)}>
            <UserMinus aria-hidden size={15} />
          </IconButton>
        )}
      </div>
      {kind !== "" && <p className="text-muted wrap-anywhere">{kind}</p>}
      {m.until !== undefined && <p className="text-warn">{`Until ${moment(m.until)}`}</p>}
      {m.why !== "" && m.state !== "off" && <p className="line-clamp-3 wrap-anywhere">{visible(m.why)}</p>}
      {m.turn !== "" && m.state === "in turn" && <Doing agent={m.agent} name={m.name} />}
      <p className="flex flex-wrap gap-x-3 text-muted">
        {!m.guest && <span>{m.tokens ? `${tokens(m.used)} tokens` : "tokens not counted"}</span>}
        {m.unread > 0 && <span>{count(m.unread, "unread message")}</span>}
        {!m.guest && <span>{`${count(m.turns, "turn")} left`}</span>}
      </p>
      {!m.guest && (
        <div className={`flex flex-wrap gap-1 ${m.turn === "" && !skips && m.state !== "down" ? "-ml-2" : ""}`}>
          {m.turn !== "" && (
            <>
              <Button tone="bad" busy={order.isPending} aria-label={`Stop ${m.name}`} onClick={() => ask("stop")}>
                Stop
              </Button>
              <Button tone="quiet" onClick={() => prompt(m.turn, m.name)}>
                Show the prompt
              </Button>
            </>
          )}
          {!closed && skips && (
            <Button busy={order.isPending} aria-label={`Skip ${m.name}`} title="The round continues without it" onClick={() => ask("skip")}>
              Skip
            </Button>
          )}
          {!closed && m.state === "down" && (
            <Button busy={order.isPending} aria-label={`Wake ${m.name}`} onClick={() => ask("wake")}>
              Wake
            </Button>
          )}
          <Button tone="quiet" aria-expanded={open} aria-label={`Work of ${m.name}`} icon={open ? <ChevronDown aria-hidden size={15} /> : <ChevronRight aria-hidden size={15} />} onClick={() => setOpen(!open)}>
            Work
          </Button>
        </div>
      )}
      {open && (
        <div className="h-80 overflow-hidden rounded border border-line">
          <Conversation source={{ kind: "agent", name: m.agent }} />
        </div>
      )}
    </li>
  );
}

/** What a member does in its turn, in a line, and what it is writing. */
function Doing({ agent, name }: { agent: string; name: string }) {
  const { items } = useConversation({ kind: "agent", name: agent });
  const piece = useLog((l) => l.unfinished[agent]);
  const doing = useMemo(() => doingNow(items ?? []), [items]);
  const text = writing(piece, items);
  return (
    <>
      <p className="flex items-baseline gap-2 text-info">
        <LoaderCircle aria-hidden size={14} className="shrink-0 animate-spin self-center" />
        <span className="shrink-0 font-medium">{text === "" ? (doing?.verb ?? "works") : "writes"}</span>
        {text === "" && <span className="min-w-0 grow truncate">{visible(doing?.text ?? "")}</span>}
      </p>
      {text !== "" && <Unfinished name={name} text={text} />}
    </>
  );
}

/** What a member is writing, the end of it. It can be read at any time and is never announced: it changes ten times a second. */
function Unfinished({ name, text }: { name: string; text: string }) {
  return (
    <div role="log" aria-live="off" aria-label={`What ${name} is writing`} className="flex max-h-40 flex-col-reverse overflow-hidden rounded bg-sunken px-2 py-1">
      <p className="wrap-anywhere whitespace-pre-wrap">{visible(text)}</p>
    </div>
  );
}
