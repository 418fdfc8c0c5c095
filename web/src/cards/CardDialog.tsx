import { useState, type ReactNode } from "react";
import { Link } from "react-router";

import { hooks, type Api } from "@/api/client";
import { visible } from "@/changes/visible";
import { CardActions, CardMenu } from "@/cards/CardItem";
import { checksOf, columns, give, ownText, roles, toneOf, type Card, type Move } from "@/cards/cards";
import { MoveDialog } from "@/cards/MoveDialog";
import { TaskLog } from "@/tasks/TaskLog";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Label } from "@/ui/label";
import { Markdown } from "@/ui/markdown";
import { Answer } from "@/ui/states";
import { useOrder } from "@/ui/toasts";

interface CardDialogProps {
  id: string;
  edit: (card: Card) => void;
  onClose: () => void;
}

/** A card with what was said about it, its work and its history. */
export function CardDialog({ id, edit, onClose }: CardDialogProps) {
  const card = hooks.useQuery("get", "/api/cards/{id}", { params: { path: { id } } });
  return (
    <Dialog title={card.data === undefined ? `Card ${id}` : `${id} ${visible(card.data.title)}`} open onOpenChange={onClose} wide>
      <Answer query={card}>{(c) => <Shown card={c} edit={() => edit(c)} onClose={onClose} />}</Answer>
    </Dialog>
  );
}

function Shown({ card: c, edit, onClose }: { card: Card; edit: () => void; onClose: () => void }) {
  const [asked, ask] = useState<Move>();
  const [history, show] = useState(false);
  const checks = checksOf(c);
  const { room = "" } = c.card ?? {};
  const texts = c.texts;
  return (
    <div className="flex flex-col gap-4">
      <p className="flex flex-wrap items-center gap-2">
        <strong>{columns.find(([id]) => id === c.column)?.[1] ?? "Cancelled"}</strong>
        <Label tone={toneOf(c)} className="whitespace-normal! wrap-anywhere">
          {visible(c.label)}
        </Label>
        {checks.text !== "" && <span className={checks.bad ? "text-bad" : "text-muted"}>{checks.text}</span>}
        <span className="ml-auto">
          <CardMenu card={c} edit={edit} ask={ask} />
        </span>
      </p>
      <CardActions card={c} open={() => document.getElementById("card-offers")?.scrollIntoView()} edit={edit} ask={ask} />
      {c.offers !== undefined && c.offers.length > 0 && <Offers card={c} offers={c.offers} />}
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        {roles.map((r) => (
          <div key={r} className="contents">
            <dt className="text-muted first-letter:uppercase">{r}</dt>
            <dd className="wrap-anywhere">{c.card?.[r] ? c.card[r] : <span className="text-muted">nobody</span>}</dd>
          </div>
        ))}
        <dt className="text-muted">Room</dt>
        <dd>
          <Link to={`/rooms/${encodeURIComponent(room)}`} className="text-accent underline wrap-anywhere">
            {room}
          </Link>
        </dd>
        <dt className="text-muted">Task</dt>
        <dd className="flex flex-wrap gap-x-3">
          {[...new Set([c.id, c.work])].map((t) => (
            <Link key={t} to={`/tasks/${encodeURIComponent(t)}`} className="text-accent underline">
              {t === c.id ? `${t}: attempts and changes` : `${t}: its newest work`}
            </Link>
          ))}
          {c.merge && (
            <Link to="/tasks/merge" className="text-accent underline">
              Preview the merge
            </Link>
          )}
        </dd>
      </dl>
      {ownText(c.body) !== "" && (
        <Part title="What it asks for">
          <Markdown>{ownText(c.body)}</Markdown>
        </Part>
      )}
      <Said title="What matters" text={texts?.brief} />
      <Said title="Plan" text={texts?.plan} empty={c.card?.planner ? "There is no plan yet." : ""} />
      <Said title="Why it was sent back" text={texts?.back} />
      {texts !== undefined && texts.work !== "" && (
        <Part title="Work">
          <pre tabIndex={0} role="group" aria-label="Work" className="max-h-72 overflow-auto rounded bg-sunken p-2 whitespace-pre-wrap wrap-anywhere">
            {visible(texts.work)}
          </pre>
        </Part>
      )}
      <details onToggle={(e) => show(e.currentTarget.open)}>
        <summary className="min-h-6 font-semibold">History</summary>
        {history && <TaskLog id={c.id} />}
      </details>
      <div className="flex justify-end">
        <Button onClick={onClose}>Close</Button>
      </div>
      {asked && <MoveDialog card={c} move={asked} onClose={() => ask(undefined)} onMoved={() => ask(undefined)} />}
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <h3 className="mb-1 font-semibold">{title}</h3>
      {children}
    </section>
  );
}

function Said({ title, text = "", empty = "" }: { title: string; text?: string | undefined; empty?: string }) {
  if (text === "") {
    return empty === "" ? null : (
      <Part title={title}>
        <p className="text-muted">{empty}</p>
      </Part>
    );
  }
  return (
    <Part title={title}>
      <div className="border-l-2 border-line-strong pl-3">
        <Markdown>{text}</Markdown>
      </div>
    </Part>
  );
}

/** What members have answered when they were asked who does what. */
function Offers({ card: c, offers }: { card: Card; offers: readonly Api<"CardOffer">[] }) {
  const pick = useOrder(give.delegate, (_, { pick }) => `The answer of ${pick ?? ""} is taken.`);
  return (
    <Part title="Who does what">
      <ul id="card-offers" className="flex flex-col gap-2">
        {offers.map((o) => {
          const names = roles.flatMap((r) => (o[r].length > 0 ? [`${r} ${o[r].join(" or ")}`] : []));
          return (
            <li key={o.by} className="flex flex-wrap items-center gap-2">
              <strong className="wrap-anywhere">{o.by}</strong>
              <span className="min-w-0 grow wrap-anywhere">{o.message === undefined ? (o.why ?? "has not answered yet") : names.length === 0 ? "names nobody" : visible(names.join(", "))}</span>
              {o.message !== undefined && c.needs !== "" && (
                <Button busy={pick.isPending} aria-label={`Take the answer of ${o.by}`} onClick={() => pick.mutate({ id: c.id, version: c.version, pick: o.by })}>
                  Take it
                </Button>
              )}
            </li>
          );
        })}
      </ul>
    </Part>
  );
}
