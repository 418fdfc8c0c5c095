import type { ReactNode } from "react";

import type { Api } from "@/api/client";
import { CheckLine, passed } from "@/needs/pieces";
import { NodeLinks, Now } from "@/node/Now";
import { nodeKind, ordersFirst, spansOf, stageOf, total, whereOf } from "@/node/words";
import { Verify } from "@/node/Verify";
import { NodeOrders } from "@/runs/NodeOrders";
import { duration, worked } from "@/runs/figures";
import { tokens } from "@/ui/figures";
import { Panel } from "@/ui/page";
import { Ago, moment } from "@/ui/time";

type Node = Api<"Inspection">;

/** What matters of a node now and what can be done about it; beside it, what is known of it. */
export function Overview({ run, node: n }: { run: string; node: Node }) {
  const last = n.attempts.at(-1);
  const spans = spansOf(n.attempts);
  const stage = stageOf(n.label);
  const first = ordersFirst(n.role, stage);
  const shown = stage === "done" || stage === "failed"; // the checks that Now shows
  const checks = stage === "failed" ? n.checks.filter(passed) : shown ? [] : n.checks;
  return (
    <div className="flex flex-col gap-4 p-4 lg:flex-row">
      <div className="flex min-w-0 grow flex-col gap-4">
        <h2 className="sr-only">Now</h2>
        {first && n.orders.length > 0 && <NodeOrders run={run} node={n.name} orders={n.orders} failed={stage === "failed"} gate={n.role === "gate"} />}
        <Now run={run} node={n} />
      </div>
      <aside aria-label="About the node" className="flex w-full shrink-0 flex-col gap-3 lg:wide-80">
        <Panel title="Details" actions={n.role === "gate" ? undefined : <Verify run={run} node={n.name} />}>
          <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
            {n.label.until !== null && <Fact name="Until">{moment(n.label.until)}</Fact>}
            {worked(spans) !== undefined && <Fact name="Worked for">{duration(worked(spans) ?? 0)}</Fact>}
            {n.since !== undefined && (
              <Fact name={stage === "done" ? "Done since" : stage === "failed" ? "Failed" : "Since"}>
                <Ago at={n.since} />
                {stage === "failed" && " ago"}
              </Fact>
            )}
            <Fact name="Kind">{nodeKind(n)}</Fact>
            {whereOf(n, n.attempts.length) !== "" && <Fact name="Machine">{whereOf(n, n.attempts.length)}</Fact>}
            {n.branch !== undefined && n.branch !== "" && <Fact name="Branch">{n.branch}</Fact>}
            {n.role !== "gate" && <Fact name="Attempts">{n.attempts.length}</Fact>}
            {last?.commits !== undefined && <Fact name="Commits">{last.commits}</Fact>}
            {last?.diffstat !== undefined && last.diffstat !== "" && <Fact name="Changes">{last.diffstat}</Fact>}
            {n.used && <Fact name="Tokens">{usage(n.used, n.budget?.tokens)}</Fact>}
          </dl>
          {!first && n.orders.length > 0 && (
            <div className="mt-3">
              <NodeOrders run={run} node={n.name} orders={n.orders} failed={stage === "failed"} gate={n.role === "gate"} />
            </div>
          )}
        </Panel>
        {checks.length > 0 && (
          <Panel title="Checks">
            <ul className="flex flex-col gap-2">
              {checks.map((c, i) => (
                <li key={i}>
                  <CheckLine check={c} />
                </li>
              ))}
            </ul>
          </Panel>
        )}
        {n.after.length > 0 && (
          <Panel title="Depends on">
            <NodeLinks run={run} nodes={n.after} />
          </Panel>
        )}
        {n.before.length > 0 && stage !== "failed" && stage !== "asks" && (
          <Panel title="Nodes that depend on it">
            <NodeLinks run={run} nodes={n.before} />
          </Panel>
        )}
        {n.refused.length > 0 && (
          <Panel title="Refused reports">
            <ul className="flex flex-col gap-1">
              {n.refused.map((r, i) => (
                <li key={i} className="wrap-anywhere">
                  {r.detail} <Ago at={r.at} className="text-muted" />
                </li>
              ))}
            </ul>
          </Panel>
        )}
      </aside>
    </div>
  );
}

function usage(u: Api<"DagUsage">, budget: number | undefined): string {
  const parts = `${tokens(total(u))} (${tokens(u.input)} in, ${tokens(u.output)} out, ${tokens(u.cache_read + u.cache_create)} cached)`;
  return budget === undefined || budget === 0 ? parts : `${parts} of a budget of ${tokens(budget)}`;
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0 wrap-anywhere">{children}</dd>
    </>
  );
}
