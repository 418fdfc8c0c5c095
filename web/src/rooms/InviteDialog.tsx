import { useId, useState } from "react";

import { outOfRooms, useAgents } from "@/agents/agents";
import { hooks } from "@/api/client";
import { roleOf } from "@/personas/persona";
import { Roles, usePersonas } from "@/personas/Roles";
import { give, wanted, type Room } from "@/rooms/rooms";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input, Select } from "@/ui/field";
import { useOrder } from "@/ui/toasts";

/** Has a member or a guest join the room. */
export function InviteDialog({ view, onClose }: { view: Room; onClose: () => void }) {
  const [guest, setGuest] = useState(false);
  const [joined, setJoined] = useState<readonly string[]>(); // what is worth knowing about who joined
  const invite = useOrder(give.invite);
  const send = (who: string, pane: boolean) =>
    invite.mutate(
      { room: view.room.name, who, ...(guest ? { guest } : {}), ...(pane ? { pane } : {}) },
      {
        onSuccess: ({ data }) => {
          const remarks = data?.remarks ?? [];
          if (remarks.length === 0) {
            onClose();
          } else {
            setJoined(remarks);
          }
        },
      },
    );
  return (
    <Dialog title={`Invite into ${view.room.name}`} open onOpenChange={onClose}>
      {joined === undefined ? (
        <div className="flex flex-col gap-3">
          <fieldset className="flex flex-wrap gap-x-4">
            <legend className="sr-only">Who joins</legend>
            {([[false, "A member"], [true, "A guest"]] as const).map(([is, label]) => (
              <label key={label} className="flex min-h-8 items-center gap-2">
                <input type="radio" name="who" checked={guest === is} onChange={() => setGuest(is)} />
                {label}
              </label>
            ))}
          </fieldset>
          {guest ? <GuestForm view={view} busy={invite.isPending} send={(who) => send(who, false)} onClose={onClose} /> : <MemberForm view={view} busy={invite.isPending} send={send} onClose={onClose} />}
        </div>
      ) : (
        <>
          <p>It joins the room. About its program:</p>
          <ul className="my-2 list-disc pl-5">
            {joined.map((text) => (
              <li key={text} className="wrap-anywhere">
                {text}
              </li>
            ))}
          </ul>
          <div className="flex justify-end">
            <Button tone="accent" data-first="" onClick={onClose}>
              Done
            </Button>
          </div>
        </>
      )}
    </Dialog>
  );
}

interface FormProps {
  view: Room;
  busy: boolean;
  send: (who: string, pane: boolean) => void;
  onClose: () => void;
}

function MemberForm({ view, busy, send, onClose }: FormProps) {
  const kinds = hooks.useQuery("get", "/api/graph/start").data?.kinds ?? [];
  const list = useId();
  const personas = usePersonas();
  const [row, set] = useState({ kind: "", name: "", role: "" });
  const [pane, setPane] = useState(view.members.some((m) => m.mode === "pane"));
  const name = row.name.trim() === "" ? row.kind.trim() : row.name.trim();
  const taken = view.members.some((m) => m.name.toLowerCase() === name.toLowerCase());
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(e) => {
        e.preventDefault();
        send(wanted(row), pane);
      }}
    >
      <p className="text-muted">A member reads the project, gets the last messages to all, and answers in turns. Each turn is a call of its model.</p>
      <Field label="Kind" hint="The agent program.">
        {(ids) => <Input {...ids} list={list} placeholder={kinds[0] ?? "claude"} autoComplete="off" value={row.kind} onChange={(e) => set({ ...row, kind: e.target.value })} />}
      </Field>
      <datalist id={list}>
        {kinds.map((k) => (
          <option key={k} value={k} />
        ))}
      </datalist>
      <Field label="Name" hint="How the others call it. Empty: like its kind." error={taken && name !== "" ? `${name} is in the room already: give it another name.` : undefined}>
        {(ids) => <Input {...ids} placeholder={row.kind.trim()} autoComplete="off" maxLength={40} value={row.name} onChange={(e) => set({ ...row, name: e.target.value })} />}
      </Field>
      <Field label="Role" hint="A persona: .cmux/roles/reviewer.md is the role reviewer, and may name kind and model. Empty: none.">
        {(ids) => <Input {...ids} list={`${list}-roles`} autoComplete="off" value={row.role} onChange={(e) => set({ ...row, ...roleOf(row.kind, e.target.value, personas) })} />}
      </Field>
      <Roles id={`${list}-roles`} personas={personas} />
      <label className="flex min-h-8 items-center gap-2">
        <input type="checkbox" checked={pane} onChange={(e) => setPane(e.target.checked)} />
        <span>In a window of tmux: you see its program, and it can ask you for permissions</span>
      </label>
      <Buttons busy={busy} disabled={row.kind.trim() === "" || taken} onClose={onClose} />
    </form>
  );
}

function GuestForm({ view, busy, send, onClose }: Omit<FormProps, "send"> & { send: (who: string) => void }) {
  const agents = useAgents();
  const [chosen, choose] = useState("");
  const there = view.members.filter((m) => m.guest).map((m) => m.agent);
  const names = outOfRooms(agents.data?.items ?? [])
    .map((a) => a.name)
    .filter((name) => !there.includes(name));
  const who = names.includes(chosen) ? chosen : (names[0] ?? "");
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(e) => {
        e.preventDefault();
        send(who);
      }}
    >
      <p className="text-muted">A guest is an agent of the organization. It gets what is said as mail and speaks with cmux rooms say. The room never waits for it.</p>
      {agents.data !== undefined && names.length === 0 ? (
        <p>{there.length === 0 ? "The organization has no agent that could be a guest." : "Each agent of the organization is a guest already."}</p>
      ) : (
        <Field label="Agent">{(ids) => <Select {...ids} options={names} value={who} onChange={(e) => choose(e.target.value)} />}</Field>
      )}
      <Buttons busy={busy} disabled={who === ""} onClose={onClose} />
    </form>
  );
}

function Buttons({ busy, disabled, onClose }: { busy: boolean; disabled: boolean; onClose: () => void }) {
  return (
    <div className="flex justify-end gap-2">
      <Button onClick={onClose}>Cancel</Button>
      <Button type="submit" tone="accent" busy={busy} disabled={disabled}>
        Invite
      </Button>
    </div>
  );
}
