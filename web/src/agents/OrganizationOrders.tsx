import { Power } from "lucide-react";
import { useState } from "react";
import { useNavigate } from "react-router";

import { api, hooks, type Api } from "@/api/client";
import { useHeartbeat } from "@/health/queries";
import { Missing } from "@/onboarding/Missing";
import { Button } from "@/ui/button";
import { Confirm, Dialog } from "@/ui/dialog";
import { Field, Input } from "@/ui/field";
import { Answer } from "@/ui/states";
import { useOrder } from "@/ui/toasts";

/** Starts the organization, after the questions of its first start. */
export function StartOrganization() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button tone="accent" icon={<Power aria-hidden size={15} />} onClick={() => setOpen(true)}>
        Start the organization
      </Button>
      <Dialog title="Start the organization" open={open} onOpenChange={setOpen}>
        <Plan onDone={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function Plan({ onDone }: { onDone: () => void }) {
  const plan = hooks.useQuery("get", "/api/organization/start", {}, { staleTime: 0, gcTime: 0, retry: false });
  return (
    <div className="flex flex-col gap-3">
      {plan.isError && <Missing />}
      <Answer query={plan}>{(p) => (p.running ? <p>The organization runs, in the tmux session {p.session}.</p> : <Questions plan={p} onDone={onDone} />)}</Answer>
    </div>
  );
}

function Questions({ plan, onDone }: { plan: Api<"StartingOrg">; onDone: () => void }) {
  const [permissions, choose] = useState(plan.choices[0]?.name);
  const [verify, setVerify] = useState(plan.check);
  const [env, setEnv] = useState(false);
  const navigate = useNavigate();
  const start = useOrder(
    async () => {
      const out = await api.POST("/api/organization/start", { body: { env, verify: verify.trim(), ...(permissions === undefined ? {} : { permissions }) } });
      onDone();
      void navigate("/chat");
      return out;
    },
    ({ data }) => (data?.running === true ? `The organization already runs in session ${data.session}.` : `The organization starts: ${data?.agents.join(", ") ?? ""}.`),
  );
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(e) => {
        e.preventDefault();
        start.mutate();
      }}
    >
      <p className="text-muted">
        {plan.first
          ? `A supervisor (${plan.agent}) that you talk to. It gives work to workers, which it or you spawn.`
          : "Every agent comes back in its conversation, with its unfinished task."}{" "}
        They go on when you close this page (tmux session {plan.session}).
      </p>
      {plan.remarks.map((r) => (
        <p key={r} className="text-warn wrap-anywhere">
          {r}
        </p>
      ))}
      {plan.choices.length > 0 && (
        <fieldset className="flex flex-col gap-2">
          <legend className="mb-1 font-medium">How may the agents of this project act?</legend>
          {plan.choices.map((c) => (
            <label key={c.name} className="flex items-start gap-2">
              <input type="radio" name="permissions" className="mt-1 size-4 shrink-0" checked={c.name === permissions} onChange={() => choose(c.name)} />
              <span>
                <span className="inline-block first-letter:uppercase">{c.name}</span> <span className="block text-muted">{c.about}</span>
              </span>
            </label>
          ))}
        </fieldset>
      )}
      {plan.check !== "" && (
        <Field label="Check" hint="This command must pass before work is merged, and agents may run it without asking you. Empty: none.">
          {(ids) => <Input {...ids} className="font-mono" value={verify} onChange={(e) => setVerify(e.target.value)} />}
        </Field>
      )}
      {!plan.first && (
        <label className="flex min-h-8 items-center gap-2">
          <input type="checkbox" className="size-4 shrink-0" checked={env} onChange={(e) => setEnv(e.target.checked)} />
          Give agents the environment of this dashboard, not that of the first start
        </label>
      )}
      {plan.first && <p className="text-muted">Your answers are kept in .cmux/config.yml.</p>}
      <div className="flex justify-end">
        <Button type="submit" tone="accent" busy={start.isPending}>
          Start the organization
        </Button>
      </div>
    </form>
  );
}

/** Says of an organization that nobody in it works, and starts it. */
export function Rests() {
  const state = useHeartbeat().data?.state;
  return (
    (state === "stopped" || state === "no monitor") && (
      <div role="status" className="flex shrink-0 flex-wrap items-center gap-3 border-b border-line bg-warn-soft px-4 py-2">
        <span className="grow">{state === "stopped" ? "The organization is stopped. Messages wait until it starts." : "The organization has no monitor: an agent that ends is not started again."}</span>
        <StartOrganization />
      </div>
    )
  );
}

/** Stops the organization. The page stays. */
export function StopOrganization() {
  const [runs, setRuns] = useState(false);
  const live = hooks.useQuery("get", "/api/runs", { params: { query: { limit: 50 } } }).data?.items.filter((r) => r.ended_at === null).length ?? 0;
  const stop = useOrder(
    () => api.POST("/api/organization/stop", { body: { runs } }),
    ({ data }) => (data?.already === true ? "The organization was stopped already." : "The organization stops."),
  );
  return (
    <Confirm
      title="Stop the organization"
      text={
        <>
          <p>Every agent is ended. The next start brings them back, in their conversations and with their unfinished tasks.</p>
          {live > 0 && (
            <label className="mt-2 flex min-h-8 items-center gap-2">
              <input type="checkbox" className="size-4" checked={runs} onChange={(e) => setRuns(e.target.checked)} />
              {`Stop ${live === 1 ? "the run" : `the ${live} runs`} too`}
            </label>
          )}
        </>
      }
      action="Stop the organization"
      busy={stop.isPending}
      onConfirm={() => stop.mutate()}
    >
      Stop the organization
    </Confirm>
  );
}
