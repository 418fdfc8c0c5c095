import { Pin } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Link } from "react-router";

import { called, type Agent } from "@/agents/agents";
import { api, hooks, type Api } from "@/api/client";
import { useMail } from "@/chat/conversation";
import { deliveryOf } from "@/chat/delivery";
import { useNewest } from "@/live/newest";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Label } from "@/ui/label";
import { VirtualList } from "@/ui/list";
import { Markdown } from "@/ui/markdown";
import { Answer, Empty, Failed, Loading } from "@/ui/states";
import { Ago } from "@/ui/time";
import { useOrder } from "@/ui/toasts";

type Mail = Api<"Mail">;

/** The messages to an agent, with the task that it works on pinned above; or the messages to you. */
export function InboxView({ agent }: { agent: Agent }) {
  const [whose, look] = useState<"agent" | "yours">("agent");
  const [opened, open] = useState<Mail>();
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div role="group" aria-label="Whose inbox" className="flex shrink-0 gap-1 border-b border-line px-2 py-1">
        {(["agent", "yours"] as const).map((w) => (
          <button key={w} type="button" aria-pressed={whose === w} onClick={() => look(w)} className="min-h-7 rounded-md px-2 aria-pressed:bg-accent-soft aria-pressed:text-accent">
            {w === "agent" ? `Inbox of ${called(agent)}` : "Your inbox"}
          </button>
        ))}
      </div>
      {whose === "agent" && agent.task !== undefined && agent.task !== "" && <Pinned id={agent.task} />}
      <div className="min-h-0 grow">{whose === "agent" ? <Theirs name={agent.name} open={open} /> : <Yours open={open} />}</div>
      {opened && <Letter mail={opened} onClose={() => open(undefined)} />}
    </div>
  );
}

function Pinned({ id }: { id: string }) {
  const task = hooks.useQuery("get", "/api/tasks/{id}", { params: { path: { id } } });
  return (
    <section aria-label="Its task" className="flex min-h-16 shrink-0 gap-2 border-b border-line bg-raised p-3">
      <Pin aria-hidden size={15} className="mt-1 shrink-0 text-accent" />
      <div className="min-w-0">
        <Link to={`/tasks/${encodeURIComponent(id)}`} className="font-medium wrap-anywhere hover:underline">
          {id} {task.data?.title}
        </Link>
        {task.data && (
          <p>
            <Label>{task.data.label}</Label>
          </p>
        )}
      </div>
    </section>
  );
}

function Theirs({ name, open }: { name: string; open: (m: Mail) => void }) {
  const mail = useMail({ to: name });
  return <Newest list={mail}>{(mails) => <Letters label={`Inbox of ${name}`} mails={mails} open={open} more={mail.more} />}</Newest>;
}

function Yours({ open }: { open: (m: Mail) => void }) {
  const query = { limit: 100 };
  const head = hooks.useQuery("get", "/api/messages/inbox", { params: { query } });
  const mail = useNewest<Mail>(head, async (cursor) => (await api.GET("/api/messages/inbox", { params: { query: { ...query, cursor } } })).data, (m) => m.id);
  return <Newest list={{ ...mail, error: head.error ?? undefined, again: () => void head.refetch() }}>{(mails) => <Letters label="Your inbox" mails={mails} open={open} more={mail.more} />}</Newest>;
}

function Newest({ list, children }: { list: ReturnType<typeof useMail>; children: (mails: readonly Mail[]) => ReactNode }) {
  return list.items !== undefined ? children(list.items) : list.error !== undefined ? <Failed error={list.error} retry={list.again} /> : <Loading />;
}

function Letters({ label, mails, open, more }: { label: string; mails: readonly Mail[]; open: (m: Mail) => void; more: (() => void) | undefined }) {
  if (mails.length === 0) {
    return <Empty title="No messages">Messages appear here as they are written.</Empty>;
  }
  return (
    <VirtualList
      label={label}
      items={mails}
      keyOf={(m) => m.id}
      estimate={56}
      more={more}
      row={(m) => {
        const delivery = deliveryOf(m);
        return (
          <button type="button" onClick={() => open(m)} className="flex w-full min-w-0 flex-col gap-0.5 border-b border-line px-3 py-2 text-left hover:bg-sunken">
            <span className="w-full truncate font-medium">{m.subject}</span>
            <span className="flex w-full items-center gap-2 text-muted">
              <span className="truncate">{m.from === "user" ? "you" : m.from}</span>
              {delivery && <Label tone={delivery.tone}>{delivery.word}</Label>}
              <Ago at={m.ts} className="ml-auto" />
            </span>
          </button>
        );
      }}
    />
  );
}

/** A message with its whole body. One to you has been read when it was shown. */
function Letter({ mail, onClose }: { mail: Mail; onClose: () => void }) {
  const whole = hooks.useQuery("get", "/api/messages/{id}", { params: { path: { id: mail.id } } });
  const path = { params: { path: { id: mail.id } } };
  const read = useOrder(() => api.POST("/api/messages/{id}/read", path), "You have read it.");
  const retry = useOrder(() => api.POST("/api/messages/{id}/retry", path), "It is tried again.");
  const mine = mail.deliveries.some((d) => d.to === "user" && d.state !== "confirmed");
  const lost = mail.deliveries.some((d) => d.state === "failed" || d.state === "expired");
  return (
    <Dialog title={mail.subject} open onOpenChange={onClose} wide>
      <div className="flex flex-col gap-3">
        <p className="text-muted wrap-anywhere">
          {mail.id}, from {mail.from} to {mail.to} {!mail.verified && "(unverified)"}
        </p>
        <Answer query={whole}>{(m) => (m.body === "" ? <p className="text-muted">It has no body.</p> : <Markdown>{m.body}</Markdown>)}</Answer>
        <ul className="flex flex-col gap-1">
          {mail.deliveries.map((d) => (
            <li key={d.to} className="flex flex-wrap gap-2">
              {d.to} <Label tone={d.state === "confirmed" ? "ok" : "muted"}>{d.state}</Label> <span className="text-muted wrap-anywhere">{d.why}</span>
            </li>
          ))}
        </ul>
        <div className="flex justify-end gap-2">
          {lost && (
            <Button busy={retry.isPending} onClick={() => retry.mutate()}>
              Try again
            </Button>
          )}
          {mine && (
            <Button tone="accent" busy={read.isPending} onClick={() => read.mutate(undefined, { onSuccess: onClose })}>
              Mark as read
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}
