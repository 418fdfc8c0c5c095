import { useState, type ReactNode } from "react";

import { hooks, type Api } from "@/api/client";
import { give, policies, type Room } from "@/rooms/rooms";
import { changesOf, differs, faultsOf, formOf, sourceOf, type Form } from "@/rooms/settings";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input, Select, Textarea } from "@/ui/field";
import { useOrder } from "@/ui/toasts";

/** The settings of a room, each with what it does, where it comes from, and a way back to what the room inherits. */
export function SettingsDialog({ view: { room, members }, onClose }: { view: Room; onClose: () => void }) {
  const [was] = useState(() => formOf(room.settings)); // what others change meanwhile stays theirs
  const [form, setForm] = useState(was);
  const set = useOrder(give.set, "The settings are changed.");
  const defaults = formOf(room.defaults);
  const sources = hooks.useQuery("get", "/api/rooms/{room}/settings", { params: { path: { room: room.name } } }).data?.items ?? none;
  const faults = faultsOf(form);
  const changes = changesOf(was, form);
  const put = (over: Partial<Form>) => setForm((now) => ({ ...now, ...over }));
  const names = members.filter((m) => !m.guest).map((m) => m.name);
  const mark = (key: keyof Form) => ({ differs: differs(key, form, defaults), inherits: described(key, defaults), source: sourceOf(key, sources), reset: () => put({ [key]: defaults[key] }) });
  const text = (key: "turns" | "rebuttals" | "round" | "day" | "idle" | "parse" | "send" | "hard", label: string, hint: string) => (
    <Setting label={label} {...mark(key)}>
      <Field label={label} hint={hint} error={faults[key]}>
        {(ids) => <Input {...ids} inputMode={key === "round" || key === "day" ? "text" : "numeric"} autoComplete="off" className="max-w-40" value={form[key]} onChange={(e) => put({ [key]: e.target.value })} />}
      </Field>
    </Setting>
  );
  const check = (key: "blind" | "decides" | "tagged" | "stops", label: string, hint: string) => (
    <Setting label={label} {...mark(key)}>
      <label className="flex min-h-8 items-start gap-2">
        <input type="checkbox" className="mt-1" checked={form[key]} onChange={(e) => put({ [key]: e.target.checked })} />
        <span>
          <span className="font-medium">{label}</span>
          <span className="block text-muted">{hint}</span>
        </span>
      </label>
    </Setting>
  );
  const lead = (key: "moderator" | "judge", label: string, hint: string) => (
    <Field label={label} hint={hint} error={faults[key]}>
      {(ids) => <Select {...ids} options={[...(names.includes(form[key]) ? [] : [[form[key], form[key] === "" ? "Choose a member" : `${form[key]} (not in the room)`] as const]), ...names]} value={form[key]} onChange={(e) => put({ [key]: e.target.value })} />}
    </Field>
  );
  return (
    <Dialog title={`Settings of ${room.name}`} open onOpenChange={onClose} wide>
      <form
        className="flex flex-col gap-4"
        onSubmit={(e) => {
          e.preventDefault();
          if (changes !== undefined) {
            set.mutate({ room: room.name, ...changes }, { onSuccess: onClose });
          }
        }}
      >
        <Field label="Topic" hint="What the room is about. Members get it with their first turn.">
          {(ids) => <Textarea {...ids} className="min-h-16" maxLength={10_000} value={form.topic} onChange={(e) => put({ topic: e.target.value })} />}
        </Field>
        <Group title="Who answers">
          <Setting label="Policy" {...mark("policy")}>
            <Field label="Policy" hint={policies.find(([p]) => p === form.policy)?.[2]}>
              {(ids) => <Select {...ids} options={policies.map(([p, says]) => [p, says] as const)} value={form.policy} onChange={(e) => put({ policy: policies.find(([p]) => p === e.target.value)?.[0] ?? form.policy })} />}
            </Field>
          </Setting>
          {form.policy === "moderator" && lead("moderator", "Moderator", "It gets your messages and calls on the others.")}
          {(form.policy === "moderator" || form.decides) && check("decides", "The moderator decides", "It puts its proposals to the others and decides. Otherwise you decide.")}
          {form.policy === "debate" && lead("judge", "Judge", "It reads the debate and proposes a decision.")}
          {form.policy === "debate" && text("rebuttals", "Answers to positions", "How often each debater answers the others before the judge speaks.")}
          {check("blind", "First answers are blind", "Members answer your message first without reading each other's answers. It keeps them from taking over the first opinion.")}
          {check("tagged", "Share only what is tagged", "The others read only what stands in <Share>…</Share>. The rest is for you alone.")}
        </Group>
        <Group title="How long and how much">
          {text("turns", "Turns in a round", "Turns that each member has since your last message. Then you decide whether the round continues.")}
          {text("round", "Tokens of a round", "Such as 200k. No turn begins that would exceed it. Empty: no bound.")}
          {text("day", "Tokens of a day", "Such as 2M. Empty: no bound.")}
        </Group>
        <Group title="Timeouts of a turn, in seconds">
          <p className="text-muted">0 is none.</p>
          {text("parse", "Works", "So long a turn works before you are asked, without the time of limits and questions.")}
          {check("stops", "Stop it then", "The turn is stopped then, and you are not asked.")}
          {text("idle", "Does nothing", "A turn without any event, output or file change is ended.")}
          {text("send", "Begins", "Until the program has the turn. Then the program starts again.")}
          {text("hard", "At most", "A turn that has taken so long in all is ended.")}
        </Group>
        <div className="sticky -bottom-4 -mx-4 -mb-4 flex flex-wrap items-center justify-end gap-2 border-t border-line bg-raised px-4 py-3">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="accent" busy={set.isPending} disabled={changes === undefined || Object.keys(faults).length > 0}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <fieldset className="flex flex-col gap-3 border-t border-line pt-3">
      <legend className="float-left w-full pb-1 font-semibold">{title}</legend>
      {children}
    </fieldset>
  );
}

interface SettingProps {
  label: string;
  differs: boolean;
  inherits: string; // the value, in words
  source: string; // of that value; empty: not known yet
  reset: () => void;
  children: ReactNode;
}

/** A setting, with where it comes from. One that is the room's own is marked, and can be taken back. */
function Setting({ label, differs, inherits, source, reset, children }: SettingProps) {
  return (
    <div className={differs ? "border-l-2 border-info pl-2" : ""}>
      {children}
      {differs ? (
        <p className="flex flex-wrap items-center gap-x-2 text-info">
          {`Set for this room. Inherited: ${inherits}${source === "" ? "" : ` (${source})`}`}
          <Button tone="quiet" className="min-h-6 text-accent" aria-label={`${label}: use the inherited value`} onClick={reset}>
            Use that
          </Button>
        </p>
      ) : (
        source !== "" && <p className="text-sm text-muted">{source === "built in" ? "Built in" : `From ${source}`}</p>
      )}
    </div>
  );
}

const none: readonly Api<"RoomSetting">[] = [];

/** What a field inherits, in words. */
function described(key: keyof Form, defaults: Form): string {
  const value = defaults[key];
  if (key === "policy") {
    return policies.find(([p]) => p === value)?.[1].toLowerCase() ?? String(value);
  }
  return value === "" ? "no bound" : typeof value === "boolean" ? (value ? "yes" : "no") : value;
}
