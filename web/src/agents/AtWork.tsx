import { useQueries } from "@tanstack/react-query";
import { Link } from "react-router";

import { atWork } from "@/agents/atwork";
import { hooks } from "@/api/client";
import { visible } from "@/changes/visible";
import { reasonOf } from "@/node/words";
import { tokens } from "@/ui/figures";
import { counted } from "@/runs/figures";
import { Label } from "@/ui/label";
import { Ago } from "@/ui/time";

/** How many live runs are looked at. */
const most = 20;

/** The agents that work in runs, which belong to no organization. Nothing, while none does. */
export function AtWork() {
  const runs = hooks.useQuery("get", "/api/runs", { params: { query: { limit: 50 } } }).data?.items ?? [];
  const live = runs.filter((r) => r.ended_at === null).slice(0, most);
  const all = useQueries({
    queries: live.map((r) => hooks.queryOptions("get", "/api/runs/{id}/graph", { params: { path: { id: r.id } } })),
    combine: (graphs) => graphs.flatMap((g) => (g.data === undefined ? [] : [{ run: g.data.run, nodes: atWork(g.data.nodes) }])).filter((g) => g.nodes.length > 0),
  });
  if (all.length === 0) {
    return null;
  }
  return (
    <div className="flex flex-col gap-4 px-4 pt-4">
      {all.map(({ run, nodes }) => (
        <section key={run.id} aria-label={`Run ${run.session}`}>
          <h2 className="mb-2 font-semibold">
            {"Run "}
            <Link to={`/runs/${encodeURIComponent(run.id)}`} className="text-accent hover:underline">
              {run.session}
            </Link>
          </h2>
          <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(18rem,100%),1fr))] gap-3">
            {nodes.map((n) => (
              <li key={n.name} className="flex min-w-0 flex-col gap-1 rounded-lg border border-line bg-surface p-3">
                <Link to={`/runs/${encodeURIComponent(run.id)}/nodes/${encodeURIComponent(n.name)}`} className="font-semibold wrap-anywhere hover:underline">
                  {n.name}
                </Link>
                <p className="text-muted">{[n.role, n.agent].join(" · ")}</p>
                <p className="flex flex-wrap items-center gap-2">
                  <Label>{n.label}</Label>
                  {n.since !== null && <Ago at={n.since} className="text-muted" />}
                </p>
                {reasonOf(n, n.status.state) !== "" && <p className="line-clamp-2 wrap-anywhere">{visible(reasonOf(n, n.status.state))}</p>}
                <p className="mt-auto text-muted">{`${tokens(counted(n.used))} tokens`}</p>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}
