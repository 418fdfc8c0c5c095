import { Play } from "lucide-react";
import { useId, useState } from "react";
import { useNavigate } from "react-router";

import { api, hooks, type Api } from "@/api/client";
import { useWaiting } from "@/needs/needs";
import { FirstCommit, useNoCommit } from "@/onboarding/FirstCommit";
import { useOnboarding } from "@/onboarding/useOnboarding";
import { nodeKind } from "@/node/words";
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
export function StartButton({ disabled = false, accent = true, children = "Start" }: { disabled?: boolean; accent?: boolean; children?: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button tone={accent ? "accent" : "plain"} icon={<Play aria-hidden size={15} />} disabled={disabled} onClick={() => setOpen(true)}>
        {children}
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
  const runs = hooks.useQuery("get", "/api/runs", { params: { query: { limit: 1000 } } });
  const unfinished = runs.data?.items.some((r) => r.state !== "done" && r.state !== "failed") ?? false;
  const goesOn = plan.data?.nodes.some((n) => n.continues !== undefined && n.continues !== "") ?? false;
  const usual = asked === "" && plan.data ? nameOf(plan.data) : undefined;
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
        <Field label="Base" hint={`Commit or branch to start from.${usual === undefined ? "" : ` Empty: ${usual}.`}`}>
          {(ids) => <Input {...ids} placeholder={usual} value={base} onChange={(e) => setBase(e.target.value)} onBlur={() => setAsked(base.trim())} />}
        </Field>
        <div className="flex flex-col gap-1">
          {(unfinished || ends) && <Tick label="End an unfinished run first" checked={ends} set={setEnds} />}
          {(goesOn || fresh) && <Tick label="Begin at the base again" about="What earlier runs left on the branches is saved as snapshots, and not continued." checked={fresh} set={setFresh} />}
        </div>
      </div>
      {noCommit ? <FirstCommit /> : <Answer query={plan}>{(p) => <Plan plan={p} fresh={fresh} />}</Answer>}
      {schedule.data && schedule.data.slots.length > 0 && (
        <section aria-label="Schedule" className="flex max-h-64 shrink-0 flex-col overflow-hidden" style={{ height: `${5 + 2 * schedule.data.slots.length}rem` }}>
          <h3 className="font-semibold">
            {schedule.data.estimated.length === 0 ? "Schedule: nothing of it has run before, so each node is drawn as a minute" : `Schedule: ${duration(schedule.data.seconds)} if every node succeeds, as in earlier runs`}, {count(schedule.data.max_parallel, "node")} at a time
          </h3>
          <BarsView label="Schedule of nodes" bars={scheduleBars(schedule.data)} />
        </section>
      )}
      <div className="sticky -bottom-4 -mx-4 -mb-4 flex justify-end border-t border-line bg-raised px-4 py-2">
        <Button type="submit" tone="accent" busy={start.isPending} disabled={plan.data === undefined}>
          Start the run
        </Button>
      </div>
    </form>
  );
}

function Tick({ label, about, checked, set }: { label: string; about?: string; checked: boolean; set: (on: boolean) => void }) {
  const id = useId();
  return (
    <div>
      <label className="flex min-h-8 items-center gap-2">
        <input type="checkbox" className="size-4" aria-describedby={about === undefined ? undefined : id} checked={checked} onChange={(e) => set(e.target.checked)} />
        {label}
      </label>
      {about !== undefined && (
        <p id={id} className="pl-6 text-muted">
          {about}
        </p>
      )}
    </div>
  );
}

/** What a run starts from, as a person calls it. */
function nameOf(plan: Api<"Starting">): string {
  return plan.branch !== undefined && plan.branch !== "" ? plan.branch : plan.base;
}

/** What becomes of the work that earlier runs left on the branches of these nodes. */
function Earlier({ plan, fresh }: { plan: Api<"Starting">; fresh: boolean }) {
  const goOn = plan.nodes.filter((n) => n.continues !== undefined && n.continues !== "");
  const open = useWaiting()?.items.filter((n) => n.kind === "review" && n.session === plan.session).length ?? 0;
  return (
    <>
      {goOn.length > 0 && !fresh && (
        <p>
          {count(goOn.length, "node goes", "nodes go")} on with the branch of an earlier run: {goOn.map((n) => `${n.name} ${n.continues ?? ""}`).join(", ")}.
        </p>
      )}
      {open > 0 && <p className="text-warn">{`You have not reviewed the work of ${count(open, "node")} of the run before. It stays on its branches, but nothing asks for that review once this run begins.`}</p>}
    </>
  );
}

function Plan({ plan, fresh }: { plan: Api<"Starting">; fresh: boolean }) {
  return (
    <div className="flex flex-col gap-2">
      <p>
        {plan.session}: {count(plan.nodes.length, "node")} from {nameOf(plan)} <code>{plan.commit.slice(0, 8)}</code>
        {plan.tokens !== undefined && plan.tokens > 0 && `, at most ${tokens(plan.tokens)} tokens`}
      </p>
      <Earlier plan={plan} fresh={fresh} />
      {plan.dirt !== undefined && plan.dirt !== "" && <p className="text-muted wrap-anywhere">Not committed, so no agent sees it: {plan.dirt}</p>}
      {plan.remarks.map((r, i) => (
        <p key={i} className="text-muted wrap-anywhere">
          {r}
        </p>
      ))}
      <div className="max-h-56 overflow-auto" tabIndex={0} role="group" aria-label="Nodes that would start">
        <table className="w-full border-collapse text-left">
          <thead>
            <tr className="border-b border-line">
              {["Node", "Kind", "Depends on", "Scope"].map((h) => (
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
                <td className="p-1">{nodeKind({ role: n.role, agent: n.kind })}</td>
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
