import { useState } from "react";
import { Link } from "react-router";

import { visible } from "@/changes/visible";
import { nameOf, standOf, useDecisions, type Decision } from "@/rooms/decisions";
import { give, type Room } from "@/rooms/rooms";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Textarea } from "@/ui/field";
import { tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Markdown } from "@/ui/markdown";
import { Answer } from "@/ui/states";
import { useOrder } from "@/ui/toasts";

/** What was proposed in a room, what its members say about it, and what was decided. */
export function DecisionsDialog({ room, onClose }: { room: Room["room"]; onClose: () => void }) {
  const all = useDecisions(room.name);
  return (
    <Dialog title="Decisions" description="A message proposes with [DECISION] and a text. Ask the members, each for itself, or decide at once." open onOpenChange={onClose} wide>
      <Answer query={all}>
        {({ items }) => (
          <div className="flex flex-col gap-4">
            {items.length === 0 && <p className="text-muted">Nothing was proposed yet.</p>}
            <ul className="flex flex-col gap-3">
              {items.toReversed().map((d) => (
                <DecisionItem key={d.id} room={room} decision={d} />
              ))}
            </ul>
            <Own room={room.name} />
          </div>
        )}
      </Answer>
    </Dialog>
  );
}

function DecisionItem({ room, decision: d }: { room: Room["room"]; decision: Decision }) {
  const { label, tone } = standOf(d);
  return (
    <li aria-label={d.id} className="rounded-lg border border-line px-3 py-2">
      <p className="flex flex-wrap items-center gap-2">
        <strong>{d.id}</strong>
        <Label tone={tone}>{label}</Label>
        <span className="text-muted">{`of ${nameOf(d.by)}${d.message > 0 ? `, #${d.message}` : ""}`}</span>
      </p>
      <Markdown>{d.decided === undefined ? d.text : d.decided.text}</Markdown>
      {d.decided !== undefined && d.decided.text !== d.text && (
        <details>
          <summary className="min-h-6 text-muted">What was proposed</summary>
          <Markdown>{d.text}</Markdown>
        </details>
      )}
      <Votes decision={d} />
      {d.decided === undefined ? (
        <Deeds room={room} decision={d} />
      ) : (
        <p className="text-muted">
          {"Its record is in the "}
          <Link className="text-accent underline" to={`/explorer?path=${encodeURIComponent(d.decided.journal)}`}>
            journal
          </Link>
          .
        </p>
      )}
    </li>
  );
}

function Votes({ decision: d }: { decision: Decision }) {
  const said = d.votes.filter((v) => (v.side !== "for" && v.why !== "") || v.unseen !== "");
  return (
    <>
      {d.for.length + d.against.length + d.votes.length + d.pending.length > 0 && (
        <p className="text-muted">
          {[`For: ${listed(d.for)}`, `against: ${listed(d.against)}`, ...(d.pending.length > 0 ? [`still asked: ${listed(d.pending)}`] : [])].join(" · ")}
        </p>
      )}
      {said.length > 0 && (
        <ul className="my-1 flex flex-col gap-1">
          {said.map((v) => (
            <li key={v.by} className="border-l-2 border-line-strong pl-3 wrap-anywhere">
              {v.side !== "for" && v.why !== "" && (
                <>
                  <strong>{`${v.by} ${v.side === "against" ? "dissents" : "says neither"}:`}</strong>
                  <Markdown>{v.why}</Markdown>
                </>
              )}
              {v.unseen !== "" && <p>{visible(`${v.by} has not examined: ${v.unseen}`)}</p>}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "nobody" : names.map(nameOf).join(", ");
}

/** What a person can do about a proposal. */
function Deeds({ room, decision: d }: { room: Room["room"]; decision: Decision }) {
  const order = useOrder(give.decide);
  const [other, setOther] = useState<string>();
  const decide = (verdict: "accepted" | "rejected") => order.mutate({ room: room.name, id: d.id, verdict });
  return (
    <div className="mt-2 flex flex-col gap-2">
      <div className="flex flex-wrap gap-2">
        {d.state === "proposed" && d.cost.wakes.length > 0 && room.phase !== "closed" && (
          <Button busy={order.isPending} title={`Asks ${d.cost.wakes.join(", ")}, each for itself`} onClick={() => order.mutate({ room: room.name, id: d.id })}>
            {`Ask the members (about ${tokens(d.cost.least)} tokens)`}
          </Button>
        )}
        <Button tone="accent" busy={order.isPending} onClick={() => decide("accepted")}>
          Accept
        </Button>
        <Button busy={order.isPending} onClick={() => decide("rejected")}>
          Reject
        </Button>
        {other === undefined && <Button onClick={() => setOther(d.text)}>Decide otherwise…</Button>}
      </div>
      {other !== undefined && (
        <TextForm label={`What is decided instead of ${d.id}`} text={other} setText={setOther} busy={order.isPending} onGive={() => order.mutate({ room: room.name, id: d.id, verdict: "changed", text: other })} onCancel={() => setOther(undefined)} />
      )}
    </div>
  );
}

/** A decision that nobody has proposed. */
function Own({ room }: { room: string }) {
  const order = useOrder(give.decide);
  const [text, setText] = useState<string>();
  if (text === undefined) {
    return (
      <div>
        <Button onClick={() => setText("")}>Decide on your own text…</Button>
      </div>
    );
  }
  return <TextForm label="What is decided" text={text} setText={setText} busy={order.isPending} onGive={() => order.mutate({ room, verdict: "changed", text, own: true }, { onSuccess: () => setText(undefined) })} onCancel={() => setText(undefined)} />;
}

interface TextFormProps {
  label: string;
  text: string;
  setText: (text: string) => void;
  busy: boolean;
  onGive: () => void;
  onCancel: () => void;
}

function TextForm({ label, text, setText, busy, onGive, onCancel }: TextFormProps) {
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={(e) => {
        e.preventDefault();
        onGive();
      }}
    >
      <Field label={label}>{(ids) => <Textarea {...ids} value={text} onChange={(e) => setText(e.target.value)} />}</Field>
      <div className="flex gap-2">
        <Button onClick={onCancel}>Go back</Button>
        <Button type="submit" tone="accent" busy={busy} disabled={text.trim() === ""}>
          Decide so
        </Button>
      </div>
    </form>
  );
}

