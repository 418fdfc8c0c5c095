import { Play } from "lucide-react";
import { useState } from "react";
import { useNavigate } from "react-router";

import { api, hooks, type Api } from "@/api/client";
import { FirstCommit, useNoCommit } from "@/onboarding/FirstCommit";
import { useOnboarding } from "@/onboarding/useOnboarding";
import { scheduleBars } from "@/runs/bars";
import { BarsView } from "@/runs/BarsView";
import { duration } from "@/runs/figures";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input } from "@/ui/field";
import { count, tokens } from "@/ui/figures";
import { Answer } from "@/ui/states";
import { useOrder } from "@/ui/toasts";

/** Starts the graph of agents, after it was shown what would start and when. */
export function StartButton({ disabled = false }: { disabled?: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button tone="accent" icon={<Play aria-hidden size={15} />} disabled={disabled} onClick={() => setOpen(true)}>
        Start
      </Button>
      <StartDialog open={open} onOpenChange={setOpen} />
    </>
  );
}

export function StartDialog({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  return (
    <Dialog wide title="Start a run" open={open} onOpenChange={onOpenChange}>
      <Start onStart={() => onOpenChange(false)} />
    </Dialog>
  );
}

function Start({ onStart }: { onStart: () => void }) {
  const [base, setBase] = useState("");
  const [asked, setAsked] = useState(""); // the base that the plan is of
  const [ends, setEnds] = useState(false);
  const [fresh, setFresh] = useState(false);
  const navigate = useNavigate();
  const options = { ...(asked === "" ? {} : { base: asked }), new: ends };
  const once = { staleTime: 0, gcTime: 0, retry: false };
  const onboarding = useOnboarding();
  const noCommit = useNoCommit() !== undefined;
  const plan = hooks.useQuery("post", "/api/runs/plan", { body: options }, { ...once, enabled: !noCommit && !onboarding.isPending });
  const schedule = hooks.useQuery("post", "/api/graph/unfold", { body: {} }, once);
  const start = useOrder(
    async () => {
      const out = await api.POST("/api/runs", { body: { ...options, fresh } });
      if (out.data) {
        onStart();
        void navigate(`/runs/${out.data.run}`);
      }
      return out;
    },
    (out) => `The run of ${out.data?.session ?? "the graph"} is started.`,
  );
  const ready = plan.data !== undefined && base.trim() === asked;
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(e) => {
        e.preventDefault();
        if (ready) {
          start.mutate();
        } else {
          setAsked(base.trim()); // what would start from this base is shown first
        }
      }}
    >
      <div className="grid gap-3 md:grid-cols-2">
        <Field label="Base" hint="Commit or branch to start from. Empty: the configuration's.">
          {(ids) => <Input {...ids} value={base} onChange={(e) => setBase(e.target.value)} onBlur={() => setAsked(base.trim())} />}
        </Field>
        <div className="flex flex-col gap-1">
          <Tick label="End an unfinished run first" checked={ends} set={setEnds} />
          <Tick label="Save what is there and begin at the base" checked={fresh} set={setFresh} />
        </div>
      </div>
      {noCommit ? <FirstCommit /> : <Answer query={plan}>{(p) => <Plan plan={p} />}</Answer>}
      {schedule.data && schedule.data.slots.length > 0 && (
        <section aria-label="Schedule" className="flex h-64 flex-col">
          <h3 className="font-semibold">
            Schedule: {duration(schedule.data.seconds)} if every node succeeds, {count(schedule.data.max_parallel, "agent")} at a time
          </h3>
          <BarsView label="Schedule of nodes" bars={scheduleBars(schedule.data)} />
        </section>
      )}
      <div className="flex justify-end">
        <Button type="submit" tone="accent" busy={start.isPending} disabled={plan.data === undefined}>
          Start the run
        </Button>
      </div>
    </form>
  );
}

function Tick({ label, checked, set }: { label: string; checked: boolean; set: (on: boolean) => void }) {
  return (
    <label className="flex min-h-8 items-center gap-2">
      <input type="checkbox" className="size-4" checked={checked} onChange={(e) => set(e.target.checked)} />
      {label}
    </label>
  );
}

function Plan({ plan }: { plan: Api<"Starting"> }) {
  return (
    <div className="flex flex-col gap-2">
      <p>
        {plan.session}: {count(plan.nodes.length, "node")} from {plan.base} <code>{plan.commit.slice(0, 8)}</code>
        {plan.tokens !== undefined && plan.tokens > 0 && `, at most ${tokens(plan.tokens)} tokens`}
      </p>
      {plan.dirt !== undefined && plan.dirt !== "" && <p className="text-warn">{plan.dirt}</p>}
      {plan.remarks.map((r, i) => (
        <p key={i} className="text-muted wrap-anywhere">
          {r}
        </p>
      ))}
      <div className="max-h-56 overflow-auto" tabIndex={0} role="group" aria-label="Nodes that would start">
        <table className="w-full border-collapse text-left">
          <thead>
            <tr className="border-b border-line">
              {["Node", "Role", "Kind", "After", "Scope"].map((h) => (
                <th key={h} scope="col" className="p-1">
                  {h}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {plan.nodes.map((n) => (
              <tr key={n.name} className="border-b border-line align-top">
                <td className="p-1 font-medium wrap-anywhere">{n.name}</td>
                <td className="p-1">{n.role}</td>
                <td className="p-1">{n.kind}</td>
                <td className="p-1 wrap-anywhere">{n.depends_on.join(", ")}</td>
                <td className="p-1 wrap-anywhere">{n.scope.join(" ")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
