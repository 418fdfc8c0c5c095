import { Plus, X } from "lucide-react";
import { useId, useState } from "react";
import { useNavigate } from "react-router";

import { hooks, type Api } from "@/api/client";
import { roleOf } from "@/personas/persona";
import { Roles, usePersonas } from "@/personas/Roles";
import { FolderPicker } from "@/rooms/FolderPicker";
import { give, policies, tokensOf, wanted, type Policy } from "@/rooms/rooms";
import { Button, IconButton } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input, Select, Textarea } from "@/ui/field";
import { count } from "@/ui/figures";
import { say, useOrder } from "@/ui/toasts";

interface Row {
  id: number;
  kind: string;
  name: string;
  role: string;
}

const mostMembers = 16;

/** What a member is called: its name, or its kind. */
function called({ kind, name }: Row): string {
  return name.trim() === "" ? kind.trim() : name.trim();
}

/** Begins a room: whom with, what about, and who answers whom. */
export function BeginDialog({ onClose }: { onClose: () => void }) {
  const kinds = hooks.useQuery("get", "/api/graph/start").data?.kinds;
  const [name, setName] = useState("");
  const [typed, setRows] = useState<readonly Row[]>();
  const rows = typed ?? (kinds !== undefined && kinds.length > 0 ? kinds.slice(0, 3) : [""]).map((kind, id) => ({ id, kind, name: "", role: "" }));
  const [topic, setTopic] = useState("");
  const [chosen, setPolicy] = useState<Policy>();
  const usual = hooks.useQuery("get", "/api/config").data?.in_force.find((s) => s.key === "rooms.policy")?.value; // no organization: none
  const policy = chosen ?? policies.find(([p]) => p === usual)?.[0] ?? "everybody";
  const [lead, setLead] = useState(""); // the moderator or the judge
  const [budget, setBudget] = useState("");
  const [dir, setDir] = useState("");
  const navigate = useNavigate();
  const begin = useOrder(give.begin);
  const there = rows.filter((r) => r.kind.trim() !== "");
  const names = there.map(called);
  const leads = policy === "moderator" ? "Moderator" : policy === "debate" ? "Judge" : undefined;
  const limit = tokensOf(budget);
  const wrong = budget.trim() !== "" && limit === undefined;
  const submit = () => {
    const settings: Api<"RoomChange"> = {
      ...(chosen === undefined ? {} : { policy }),
      ...(topic.trim() === "" ? {} : { topic: topic.trim() }),
      ...(dir === "" ? {} : { dir }),
      ...(limit === undefined ? {} : { tokens: { round: limit } }),
      ...(leads === undefined ? {} : leads === "Judge" ? { judge: lead || (names.at(-1) ?? "") } : { moderator: lead || (names[0] ?? "") }),
    };
    begin.mutate(
      { ...(name.trim() === "" ? {} : { name: name.trim() }), members: there.map(wanted), settings },
      {
        onSuccess: ({ data }) => {
          data?.remarks.forEach(say);
          onClose();
          void navigate(`/rooms/${encodeURIComponent(data?.room.name ?? name)}`);
        },
      },
    );
  };
  return (
    <Dialog title="Begin a room" open onOpenChange={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          submit();
        }}
      >
        <Field label="Name" hint="Letters, digits, - and _. Empty: room, room-2, …">
          {(ids) => <Input {...ids} value={name} autoComplete="off" maxLength={40} onChange={(e) => setName(e.target.value)} />}
        </Field>
        <Members rows={rows} kinds={kinds ?? []} set={setRows} />
        <Field label="Topic">{(ids) => <Textarea {...ids} className="min-h-16" value={topic} placeholder="What the room is about" onChange={(e) => setTopic(e.target.value)} />}</Field>
        <Field label="Who answers" hint={policies.find(([p]) => p === policy)?.[2]}>
          {(ids) => <Select {...ids} options={policies.map(([p, text]) => [p, text] as const)} value={policy} onChange={(e) => setPolicy(policies.find(([p]) => p === e.target.value)?.[0] ?? policy)} />}
        </Field>
        {leads !== undefined && (
          <Field label={leads}>{(ids) => <Select {...ids} options={names} value={lead === "" ? ((leads === "Judge" ? names.at(-1) : names[0]) ?? "") : lead} onChange={(e) => setLead(e.target.value)} />}</Field>
        )}
        <Field label="Tokens of a round" hint="Such as 200k. At this bound a round ends, and you decide whether it continues. Empty: no bound." error={wrong ? "This is no number of tokens." : undefined}>
          {(ids) => <Input {...ids} value={budget} autoComplete="off" onChange={(e) => setBudget(e.target.value)} />}
        </Field>
        <FolderPicker chosen={dir} choose={setDir} />
        <div className="rounded-md bg-sunken p-3 text-muted">
          <p>Members read the project and may not write in it. What they ask permission for, they ask you.</p>
          {there.length > 0 && <p className="mt-1">{costs(policy, there.length)}</p>}
        </div>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="accent" busy={begin.isPending} disabled={there.length === 0 || wrong}>
            Begin
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** The turns that a question to all begins, and may lead to: three a member, unless the settings say otherwise. */
function costs(policy: Policy, members: number): string {
  const turns = count(members, "turn");
  switch (policy) {
    case "once":
      return `A question to all costs ${turns}, one of each member. The field shows the tokens before you send.`;
    case "mentioned":
    case "moderator":
      return "A question costs a turn of each member that is called on, at most three a member. The field shows the tokens before you send.";
    default:
      return `A question to all begins ${turns}; reactions may lead to ${members * 3}. The field shows the tokens before you send.`;
  }
}

interface MembersProps {
  rows: readonly Row[];
  kinds: readonly string[];
  set: (rows: readonly Row[]) => void;
}

function Members({ rows, kinds, set }: MembersProps) {
  const list = useId();
  const personas = usePersonas();
  const put = (id: number, over: Partial<Row>) => set(rows.map((r) => (r.id === id ? { ...r, ...over } : r)));
  const next = Math.max(0, ...rows.map((r) => r.id)) + 1;
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="mb-1 font-medium">Members</legend>
      <datalist id={list}>
        {kinds.map((k) => (
          <option key={k} value={k} />
        ))}
      </datalist>
      <Roles id={`${list}-roles`} personas={personas} />
      <div aria-hidden className="grid grid-cols-[1fr_1fr_1fr_2.75rem] gap-1.5 text-muted">
        <span>Kind</span>
        <span>Name</span>
        <span>Role</span>
      </div>
      {rows.map((r, i) => (
        <div key={r.id} className="grid grid-cols-[1fr_1fr_1fr_2.75rem] items-center gap-1.5">
          <Input aria-label={`Kind of member ${i + 1}`} list={list} placeholder="claude" autoComplete="off" value={r.kind} onChange={(e) => put(r.id, { kind: e.target.value })} />
          <Input aria-label={`Name of member ${i + 1}`} placeholder={r.kind.trim()} autoComplete="off" value={r.name} onChange={(e) => put(r.id, { name: e.target.value })} />
          <Input aria-label={`Role of member ${i + 1}`} placeholder="none" autoComplete="off" value={r.role} list={`${list}-roles`} onChange={(e) => put(r.id, roleOf(r.kind, e.target.value, personas))} />
          <IconButton label={`Leave member ${i + 1} out`} disabled={rows.length === 1} onClick={() => set(rows.filter((x) => x.id !== r.id))}>
            <X aria-hidden size={16} className="shrink-0" />
          </IconButton>
        </div>
      ))}
      <div>
        <Button icon={<Plus aria-hidden size={15} />} disabled={rows.length >= mostMembers} onClick={() => set([...rows, { id: next, kind: "", name: "", role: "" }])}>
          Add a member
        </Button>
      </div>
      <p className="text-muted">A role is a persona: a file such as .cmux/roles/reviewer.md, which may name kind and model. Without a name, a member is called like its kind.</p>
    </fieldset>
  );
}
