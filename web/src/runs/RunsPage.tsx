import { useState } from "react";
import { Link, useNavigate } from "react-router";

import { hooks, type Api } from "@/api/client";
import { counted, duration, took } from "@/runs/figures";
import { leftOf } from "@/review/order";
import { FirstCommit } from "@/onboarding/FirstCommit";
import { Ways } from "@/onboarding/Welcome";
import { StartButton } from "@/runs/StartDialog";
import { Button } from "@/ui/button";
import { Field, Input } from "@/ui/field";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { VirtualList } from "@/ui/list";
import { Page } from "@/ui/page";
import { Answer } from "@/ui/states";
import { Ago, useClock } from "@/ui/time";

/** A longer list can be searched. */
const searched = 12;

/** The runs of the project, the newest first. Two of them can be compared. */
export default function RunsPage() {
  const runs = hooks.useQuery("get", "/api/runs", { params: { query: { limit: 1000 } } });
  const graph = hooks.useQuery("get", "/api/graph");
  const [typed, type] = useState("");
  const fits = (r: Api<"PastRun">) => typed.toLowerCase().split(/\s+/).every((w) => `${r.session} ${r.id} ${r.state} ${r.base}`.toLowerCase().includes(w));
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const navigate = useNavigate();
  const choose = (id: string) => setChosen((was) => (was.includes(id) ? was.filter((c) => c !== id) : [...was, id].slice(-2)));
  const [a, b] = [...chosen].sort(); // the older is the first
  return (
    <Page
      title="Runs"
      about={runs.data && <span>{count(runs.data.items.length, "run")}</span>}
      actions={
        <>
          {(runs.data?.items.length ?? 0) > searched && (
            <Field label="Find a run" hidden>
              {(ids) => <Input {...ids} type="search" placeholder="Name, id, state or base" value={typed} onChange={(e) => type(e.target.value)} />}
            </Field>
          )}
          {(runs.data?.items.length ?? 0) > 1 && (
            <Button disabled={b === undefined} onClick={() => void navigate(`/compare?a=${a ?? ""}&b=${b ?? ""}`)}>
              Compare {chosen.length} of 2
            </Button>
          )}
          {(graph.data?.there === true || (runs.data?.items.length ?? 0) > 0) && <StartButton />}
        </>
      }
      ready={!runs.isPending}
    >
      <Answer query={runs}>
        {({ items }) =>
          items.length === 0 ? (
            <div className="mx-auto flex w-full max-w-3xl flex-col gap-4 p-4">
              <h2 className="text-title font-semibold">There is no run yet</h2>
              <FirstCommit />
              <p>
                {graph.data?.there === true ? (
                  <>
                    A graph is written. <Link to="/config/agents" className="text-accent underline">Look at it and start a run</Link>, or begin with another one:
                  </>
                ) : (
                  "A run carries out a graph of tasks. Begin with one of these:"
                )}
              </p>
              <Ways />
            </div>
          ) : (
            <div className="min-h-0 grow">
              <VirtualList label="Runs" items={items.filter(fits)} keyOf={(r) => r.id} estimate={56} row={(r) => <Line run={r} newest={items.find((o) => o.session === r.session) === r} chosen={chosen.includes(r.id)} choose={() => choose(r.id)} />} />
            </div>
          )
        }
      </Answer>
    </Page>
  );
}

/** Which work of a run that is over is left: to review, to merge, or none. */
function Left({ run }: { run: string }) {
  const reviews = hooks.useQuery("get", "/api/runs/{id}/reviews", { params: { path: { id: run } } }, { retry: false });
  const left = leftOf(reviews.data?.items ?? []);
  const place = `/runs/${encodeURIComponent(run)}/review`;
  switch (left) {
    case "review":
      return <Link to={place} className="text-accent underline">to review</Link>;
    case "merge":
      return <Link to={`${place}?tab=merge`} className="text-accent underline">not merged</Link>;
    case "merged":
      return <span className="text-muted">merged</span>;
    default:
      return null;
  }
}

function Line({ run, newest, chosen, choose }: { run: Api<"PastRun">; newest: boolean; chosen: boolean; choose: () => void }) {
  const time = useClock((now) => {
    const seconds = took(run, now);
    return seconds === undefined ? undefined : duration(run.ended_at === null ? Math.floor(seconds) : seconds);
  });
  return (
    <div className="flex items-center gap-3 border-b border-line px-3 py-2">
      <input type="checkbox" className="size-4 shrink-0" aria-label={`Compare run ${run.id}`} checked={chosen} onChange={choose} />
      <div className="flex min-w-0 grow flex-wrap items-center gap-x-4 gap-y-1">
        <Link to={`/runs/${run.id}`} className="font-semibold text-accent wrap-anywhere hover:underline">
          {run.session}
        </Link>
        <Label>{run.state}</Label>
        {newest && (run.state === "done" || run.state === "failed") && <Left run={run.id} />}
        <span>
          {run.done} of {count(run.nodes, "node")} done
          {run.failed > 0 && <span className="text-bad">, {run.failed} failed</span>}
        </span>
        {run.attempts > run.nodes && <span className="text-muted">{count(run.attempts, "attempt")}</span>}
        {time !== undefined && <span className="text-muted">{run.ended_at === null ? `runs for ${time}` : `took ${time}`}</span>}
        {counted(run.used) > 0 && <span className="text-muted">{tokens(counted(run.used))} tokens</span>}
        {run.started_at !== null && (
          <span className="text-muted">
            started <Ago at={run.started_at} /> ago
          </span>
        )}
        <code className="text-muted">{run.id}</code>
      </div>
    </div>
  );
}
