import { useState } from "react";
import { Link } from "react-router";

import { toneOfAgent } from "@/agents/agents";
import { api, hooks, type Api } from "@/api/client";
import { Button } from "@/ui/button";
import { Confirm, Dialog } from "@/ui/dialog";
import { Field, Input, Select, Textarea } from "@/ui/field";
import { Label } from "@/ui/label";
import { Panel } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";
import { useOrder } from "@/ui/toasts";

/** Teams that there are, and the kinds that can be made. */
export function Teams() {
  const teams = hooks.useQuery("get", "/api/teams", { params: { query: { limit: 1000 } } });
  const kinds = hooks.useQuery("get", "/api/team-templates", { params: { query: { limit: 1000 } } });
  const [making, make] = useState<string>();
  const remove = useOrder((name: string) => api.DELETE("/api/teams/{name}", { params: { path: { name } } }), (_, name) => `Team ${name} is removed.`);
  return (
    <div className="flex flex-col gap-4 p-4">
      <Panel title="Teams">
        <Answer query={teams}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="There is no team">Create one of a kind below.</Empty>
            ) : (
              <ul className="flex flex-col gap-3">
                {items.map((t) => (
                  <li key={t.name} className="flex flex-wrap items-center gap-2">
                    <strong className="wrap-anywhere">{t.name}</strong>
                    {t.agents.map((a) => (
                      <Link key={a.name} to={`/agents/${encodeURIComponent(a.name)}`} className="inline-flex items-center gap-1 hover:underline">
                        {a.name} <Label tone={toneOfAgent(a)}>{a.state}</Label>
                      </Link>
                    ))}
                    <span className="ml-auto">
                      <Confirm tone="bad" title={`Remove team ${t.name}?`} text="What it has not finished is cancelled, and its members are removed. What they leave is kept." action="Remove" onConfirm={() => remove.mutate(t.name)}>
                        Remove
                      </Confirm>
                    </span>
                  </li>
                ))}
              </ul>
            )
          }
        </Answer>
      </Panel>
      <Panel title="Kinds" ready={!teams.isPending}>
        <Answer query={kinds}>
          {({ items }) => (
            <ul className="grid gap-3 md:grid-cols-2">
              {items.map((k) => (
                <li key={k.name} className="flex flex-col gap-1 rounded-md border border-line p-3">
                  <strong>{k.name}</strong>
                  <p className="wrap-anywhere">{k.about}</p>
                  <p className="text-muted wrap-anywhere">{k.members.map((m) => m.role + (m.lead === true ? " (lead)" : "")).join(", ")}</p>
                  <div>
                    <Button onClick={() => make(k.name)}>Create team</Button>
                  </div>
                </li>
              ))}
            </ul>
          )}
        </Answer>
      </Panel>
      {making !== undefined && <Make template={making} kinds={kinds.data?.items.map((k) => k.name) ?? []} onClose={() => make(undefined)} />}
    </div>
  );
}

function Make({ template, kinds, onClose }: { template: string; kinds: readonly string[]; onClose: () => void }) {
  const [kind, setKind] = useState(template);
  const [name, setName] = useState("");
  const [task, setTask] = useState("");
  const [permanent, setPermanent] = useState(false);
  const [plan, setPlan] = useState<Api<"TeamPlan">>();
  const body: Api<"TeamIn"> = { template: kind, permanent, ...(name.trim() === "" ? {} : { name: name.trim() }), ...(task.trim() === "" ? {} : { task: task.trim() }) };
  const look = useOrder(async (team: Api<"TeamIn">) => setPlan((await api.POST("/api/teams/plan", { body: team })).data));
  const make = useOrder((team: Api<"TeamIn">) => api.POST("/api/teams", { body: team }), ({ data }) => `Team ${data?.name ?? ""} is created.`);
  return (
    <Dialog title="Create a team" open onOpenChange={onClose} wide>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          make.mutate(body, { onSuccess: onClose });
        }}
      >
        <Field label="Kind">{(ids) => <Select {...ids} options={kinds} value={kind} onChange={(e) => setKind(e.target.value)} />}</Field>
        <Field label="Name" hint="Empty: as its kind.">
          {(ids) => <Input {...ids} value={name} onChange={(e) => setName(e.target.value)} />}
        </Field>
        <Field label="Task" hint="Empty: it waits for one.">
          {(ids) => <Textarea {...ids} value={task} onChange={(e) => setTask(e.target.value)} />}
        </Field>
        <label className="flex items-center gap-2">
          <input type="checkbox" checked={permanent} onChange={(e) => setPermanent(e.target.checked)} />
          Permanent: its members stay after their work
        </label>
        {plan && (
          <Panel title={`What ${plan.name} would be`}>
            <ul>
              {plan.members.map((m) => (
                <li key={m.name} className="wrap-anywhere">
                  <strong>{m.name}</strong> {m.role}
                  {m.lead && " (lead)"}
                  {m.there && ", there already"}
                </li>
              ))}
            </ul>
          </Panel>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button busy={look.isPending} onClick={() => look.mutate(body)}>
            Show the plan
          </Button>
          <Button type="submit" tone="accent" busy={make.isPending}>
            Create team
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
