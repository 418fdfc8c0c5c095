import { useState } from "react";

import { lines } from "@/agents/AgentDialogs";
import { give, ownText, roles, type Card, type Proposal, type Role } from "@/cards/cards";
import { useRoom } from "@/rooms/rooms";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input, Select, Textarea } from "@/ui/field";
import { useOrder } from "@/ui/toasts";

interface FormProps {
  room: string;
  card?: Card | undefined; // that is edited; undefined: a new one
  todo?: Proposal | undefined; // that a new one takes up
  onClose: () => void;
}

const hints: Readonly<Record<Role, string>> = {
  coordinator: "Says what matters, before it is planned.",
  planner: "Plans, in a turn of its own.",
  implementer: "A worker like this member does the work.",
  reviewer: "Reviews the plan, then the work.",
};

type Form = Record<Role | "title" | "body" | "verify" | "scope", string>;

function formOf(card: Card | undefined, todo: Proposal | undefined): Form {
  const c = card?.card;
  return {
    title: card?.title ?? "",
    body: card === undefined ? (todo?.text ?? "") : ownText(card.body),
    verify: card?.verify.join("\n") ?? "",
    scope: card?.scope.join("\n") ?? "",
    coordinator: c?.coordinator ?? "",
    planner: c?.planner ?? "",
    implementer: c?.implementer ?? "",
    reviewer: c?.reviewer ?? "",
  };
}

/** Makes a card, or changes one: what it says, and who does what. */
export function CardForm({ room, card, todo, onClose }: FormProps) {
  const [was] = useState(() => formOf(card, todo));
  const [form, setForm] = useState(was);
  const [version] = useState(card?.version ?? 0);
  const members = useRoom(room).data?.members.filter((m) => !m.guest).map((m) => m.name) ?? [];
  const add = useOrder(give.add, (out) => `${out.data?.id ?? "The card"} is in the backlog.`);
  const edit = useOrder(give.edit, `${card?.id ?? ""} is changed.`);
  const put = (over: Partial<Form>) => setForm((now) => ({ ...now, ...over }));
  const begun = card !== undefined && card.column !== "backlog";
  const changed = (Object.keys(form) as (keyof Form)[]).filter((k) => form[k].trim() !== was[k].trim());
  const submit = () => {
    const text = Object.fromEntries(changed.map((k) => [k, k === "verify" || k === "scope" ? lines(form[k]) : form[k].trim()]));
    if (card !== undefined) {
      edit.mutate({ id: card.id, version, ...text }, { onSuccess: onClose });
    } else {
      add.mutate({ room, ...(todo === undefined ? {} : { todo: todo.id, body: form.body }), ...text }, { onSuccess: onClose });
    }
  };
  return (
    <Dialog title={card === undefined ? `Add a card to ${room}` : `Edit ${card.id}`} open onOpenChange={onClose} wide>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          submit();
        }}
      >
        <Field label="Title">{(ids) => <Input {...ids} value={form.title} autoComplete="off" maxLength={500} onChange={(e) => put({ title: e.target.value })} />}</Field>
        <Field label="What it asks for">{(ids) => <Textarea {...ids} value={form.body} placeholder="Keep the old flag." onChange={(e) => put({ body: e.target.value })} />}</Field>
        <fieldset className="grid gap-3 sm:grid-cols-2">
          <legend className="mb-1 font-medium">Who does what</legend>
          {roles.map((r) => (
            <Field key={r} label={r.charAt(0).toUpperCase() + r.slice(1)} hint={hints[r]}>
              {(ids) => <Select {...ids} value={form[r]} options={[["", "Nobody"], ...[...new Set([...members, ...(form[r] === "" ? [] : [form[r]])])].map((m) => [m, members.includes(m) ? m : `${m} (not in the room)`] as const)]} onChange={(e) => put({ [r]: e.target.value })} />}
            </Field>
          ))}
        </fieldset>
        {form.implementer === "" && <p className="text-muted">A card needs an implementer before it starts. The room can be asked who does what.</p>}
        {begun && <p className="text-muted">The card has begun: roles count for the steps that come.</p>}
        <details open={form.verify !== "" || form.scope !== ""}>
          <summary className="min-h-6">Checks and scope of the work</summary>
          <div className="mt-2 grid gap-3 sm:grid-cols-2">
            <Field label="Checks" hint="Commands that must pass, one on each line.">
              {(ids) => <Textarea {...ids} className="font-mono" value={form.verify} onChange={(e) => put({ verify: e.target.value })} />}
            </Field>
            <Field label="Scope" hint="Patterns of files that it may change, one on each line.">
              {(ids) => <Textarea {...ids} className="font-mono" value={form.scope} onChange={(e) => put({ scope: e.target.value })} />}
            </Field>
          </div>
        </details>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="accent" busy={add.isPending || edit.isPending} disabled={(form.title.trim() === "" && todo === undefined) || (card !== undefined && changed.length === 0)}>
            {card === undefined ? "Add card" : "Save"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
