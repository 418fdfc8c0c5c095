import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useId, useState } from "react";

import { hooks, type Api } from "@/api/client";
import { conflict, dirty, faultOfName, give, keep, look, open, over, restore, take, withSaved, type Form, type Persona } from "@/personas/persona";
import { Button } from "@/ui/button";
import { Confirm, Dialog } from "@/ui/dialog";
import { Field, Input, Textarea } from "@/ui/field";
import { say, useOrder } from "@/ui/toasts";

interface DialogProps {
  name: string; // empty: a new one
  all: readonly Persona[];
  onClose: () => void;
  onMade: (name: string) => void;
}

/** Has the list show what was saved: what is typed next is compared with that, not with what it said before. */
async function lists(client: QueryClient, saved: Persona): Promise<void> {
  const of = { queryKey: ["get", "/api/personas"] };
  await client.cancelQueries(of); // they may have read the file before this
  client.setQueriesData<Api<"ListPersona">>(of, (list) => list && { ...list, items: withSaved(list.items, saved) });
  void client.invalidateQueries(of);
}

const placeOf = (name: string) => `cmux-persona-${name}`;

/** Makes or edits a persona. What is typed outlives the dialog until it is saved or discarded. */
export function PersonaDialog({ name: of, all, onClose, onMade }: DialogProps) {
  const isNew = of === "";
  const disk = all.find((p) => p.name === of);
  const [name, setName] = useState("");
  const [seen, setSeen] = useState(disk);
  const [edit, setEdit] = useState(() => restore(sessionStorage.getItem(placeOf(of)), disk));
  if (seen?.sum !== disk?.sum) {
    setSeen(disk);
    setEdit(look(edit, disk));
  }
  const kept = keep(edit);
  useEffect(() => {
    if (kept === "") {
      sessionStorage.removeItem(placeOf(of));
    } else {
      sessionStorage.setItem(placeOf(of), kept);
    }
  }, [kept, of]);
  const client = useQueryClient();
  const save = useOrder(async (given: Parameters<typeof give.save>[0]) => {
    const { data } = await give.save(given);
    if (data) {
      await lists(client, data);
    }
    return data;
  });
  const { form, base } = edit;
  const clash = !isNew && conflict(edit);
  const typed = isNew ? name.trim() : of;
  const fault = isNew ? faultOfName(typed, all) : undefined;
  const put = (next: Partial<Form>) => setEdit((now) => ({ ...now, form: { ...now.form, ...next } }));
  const send = (sum: string | undefined) =>
    save.mutate(
      { name: typed, ...form, ...(sum === undefined ? {} : { sum }) },
      {
        onSuccess: (data) => {
          say(`${typed} is saved.`);
          if (isNew) {
            sessionStorage.removeItem(placeOf(of));
            onMade(typed);
          } else if (data) {
            setEdit((now) => (dirty({ ...now, base: data }) ? { ...now, base: data, disk: data } : open(data)));
            setSeen(data);
          }
        },
      },
    );
  return (
    <Dialog title={isNew ? "Make a persona" : `Persona ${of}`} open onOpenChange={onClose} wide>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          send(base?.sum);
        }}
      >
        {clash && (
          <div role="alert" className="flex flex-col gap-2 rounded-md bg-bad-soft p-3 text-bad">
            <p>{disk === undefined ? "The file is not there any more. Nothing of yours is lost." : "Somebody else changed the file. Nothing of yours was written over it."}</p>
            {disk !== undefined && (
              <details>
                <summary className="min-h-6">What the file says now</summary>
                <pre tabIndex={0} role="group" aria-label="The file" className="max-h-48 overflow-auto whitespace-pre-wrap wrap-anywhere">{`kind: ${disk.kind}\nmodel: ${disk.model}\n\n${disk.text}`}</pre>
              </details>
            )}
            <p className="flex flex-wrap gap-2">
              {disk !== undefined && <Button onClick={() => setEdit(take)}>Take the file&apos;s text</Button>}
              <Button
                tone="bad"
                busy={save.isPending}
                onClick={() => {
                  setEdit(over);
                  send(disk?.sum);
                }}
              >
                {disk === undefined ? "Write it again" : "Write mine over it"}
              </Button>
            </p>
          </div>
        )}
        {isNew && (
          <Field label="Name" hint="Letters, digits, - and _. The file is .cmux/roles/NAME.md." error={fault}>
            {(ids) => <Input {...ids} value={name} autoComplete="off" maxLength={60} onChange={(e) => setName(e.target.value)} />}
          </Field>
        )}
        <Agent form={form} put={put} />
        <Field label="What an agent with the role is told">{(ids) => <Textarea {...ids} className="min-h-48 font-mono" maxLength={120_000} value={form.text} placeholder="You review. Name the file and the line, and what breaks." onChange={(e) => put({ text: e.target.value })} />}</Field>
        {(base?.used.length ?? 0) > 0 && <p className="text-muted wrap-anywhere">{`Used by ${(disk ?? base)?.used.join(", ") ?? ""}: they read a change when their next conversation begins. Kind and model are for who joins later.`}</p>}
        {dirty(edit) && <p className="text-muted">Not saved yet. This tab keeps it until you save or discard it.</p>}
        <div className="flex flex-wrap items-center justify-end gap-2">
          {!isNew && disk !== undefined && <Removal persona={disk} onGone={onClose} />}
          {dirty(edit) && !clash && (
            <Button tone="quiet" onClick={() => setEdit(open(isNew ? undefined : disk))}>
              Discard changes
            </Button>
          )}
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" tone="accent" busy={save.isPending} disabled={!dirty(edit) || clash || form.text.trim() === "" || typed === "" || fault !== undefined}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Agent({ form, put }: { form: Form; put: (next: Partial<Form>) => void }) {
  const kinds = hooks.useQuery("get", "/api/graph/start").data?.kinds ?? [];
  const list = useId();
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Field label="Kind" hint="The agent program. Empty: any.">
        {(ids) => <Input {...ids} list={list} value={form.kind} autoComplete="off" maxLength={100} onChange={(e) => put({ kind: e.target.value })} />}
      </Field>
      <datalist id={list}>
        {kinds.map((k) => (
          <option key={k} value={k} />
        ))}
      </datalist>
      <Field label="Model" hint="As the program names it. Empty: its own choice.">
        {(ids) => <Input {...ids} value={form.model} autoComplete="off" maxLength={100} onChange={(e) => put({ model: e.target.value })} />}
      </Field>
    </div>
  );
}

function Removal({ persona: p, onGone }: { persona: Persona; onGone: () => void }) {
  const remove = useOrder(give.remove, `${p.name} is removed.`);
  const held = p.own ? "cmux writes this role again when it starts: it can be edited, not removed." : p.used.length > 0 ? `${p.used.join(", ")} ${p.used.length === 1 ? "uses" : "use"} it: dismiss or remove ${p.used.length === 1 ? "it" : "them"} first.` : "";
  if (held !== "") {
    return <p className="mr-auto max-w-prose text-muted wrap-anywhere">{held}</p>;
  }
  return (
    <Confirm
      className="mr-auto"
      tone="bad"
      title={`Remove ${p.name}?`}
      text={`${p.file} is removed. No agent uses it.`}
      action="Remove persona"
      busy={remove.isPending}
      onConfirm={() =>
        remove.mutate(
          { name: p.name, sum: p.sum },
          {
            onSuccess: () => {
              sessionStorage.removeItem(placeOf(p.name));
              onGone();
            },
          },
        )
      }
    >
      Remove…
    </Confirm>
  );
}
