import { CircleAlert, CircleCheck } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "react-router";

import { api, type Api } from "@/api/client";
import { Output } from "@/conversation/Output";
import { AnswerForm } from "@/needs/AnswerForm";
import { labelText, live, tookText, total } from "@/node/words";
import { Verify } from "@/node/Verify";
import { NodeOrders } from "@/runs/NodeOrders";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Markdown } from "@/ui/markdown";
import { Panel } from "@/ui/page";
import { Ago, moment } from "@/ui/time";
import { useOrder } from "@/ui/toasts";

type Node = Api<"Inspection">;

/** How a node stands, what it asks, and what can be done about it. */
export function Overview({ run, node: n }: { run: string; node: Node }) {
  const last = n.attempts.at(-1);
  return (
    <div className="grid gap-3 p-3 lg:grid-cols-2">
      <Panel title="State">
        <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
          <Fact name="State">
            <Label>{labelText(n.label)}</Label>
          </Fact>
          {n.reason !== undefined && n.reason !== "" && <Fact name="Reason">{n.reason}</Fact>}
          {n.label.detail !== "" && n.label.detail !== n.reason && <Fact name="Detail">{n.label.detail}</Fact>}
          {n.label.until !== null && <Fact name="Until">{moment(n.label.until)}</Fact>}
          {n.since !== undefined && (
            <Fact name="Since">
              <Ago at={n.since} />
            </Fact>
          )}
          <Fact name="Role">{n.role}</Fact>
          {n.agent !== undefined && n.agent !== "" && <Fact name="Agent">{n.agent}</Fact>}
          {n.branch !== undefined && n.branch !== "" && <Fact name="Branch">{n.branch}</Fact>}
          <Fact name="Attempts">{n.attempts.length}</Fact>
          {last?.commits !== undefined && <Fact name="Commits">{last.commits}</Fact>}
          {last?.diffstat !== undefined && last.diffstat !== "" && <Fact name="Changes">{last.diffstat}</Fact>}
          {n.used && <Fact name="Tokens">{usage(n.used, n.budget?.tokens)}</Fact>}
        </dl>
        <div className="mt-3">
          <NodeOrders run={run} node={n.name} orders={n.orders} />
        </div>
      </Panel>
      {(n.question !== undefined || n.orders.includes("answer")) && <Ask run={run} node={n} />}
      {last?.summary !== undefined && last.summary !== "" && (
        <Panel title="Summary">
          <Markdown>{last.summary}</Markdown>
        </Panel>
      )}
      <Panel title="Checks" actions={n.role === "gate" ? undefined : <Verify run={run} node={n.name} />}>
        {n.checks.length === 0 ? (
          <p className="text-muted">No check has run yet.</p>
        ) : (
          <ul className="flex flex-col gap-2">
            {n.checks.map((c, i) => (
              <li key={i}>
                <Check check={c} />
              </li>
            ))}
          </ul>
        )}
      </Panel>
      {(n.before.length > 0 || n.after.length > 0) && (
        <Panel title="Beside it">
          <Besides title="Waits for" run={run} nodes={n.after} />
          <Besides title="Waits for this" run={run} nodes={n.before} />
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

function Ask({ run, node }: { run: string; node: Node }) {
  const answer = useOrder(
    (body: Api<"Answer">) => api.POST("/api/runs/{id}/nodes/{node}/answer", { params: { path: { id: run, node: node.name } }, body }),
    ({ data }) => (data?.note !== undefined && data.note !== "" ? data.note : `${node.name} was told.`),
  );
  const asked = node.question !== undefined;
  return (
    <Panel title={asked ? "Question" : live(node.label.state) ? "Tell the agent" : "Answer"}>
      <AnswerForm of={node.name} question={node.question} busy={answer.isPending} send={answer.mutate} verb={asked ? "Answer" : "Tell"} label={asked ? "Answer" : "What to tell the agent"} />
    </Panel>
  );
}

function Check({ check: c }: { check: Api<"RunCheck"> }) {
  const passed = c.exit === 0 && c.timed_out !== true;
  const Icon = passed ? CircleCheck : CircleAlert;
  return (
    <>
      <p className="flex items-start gap-2">
        <Icon aria-hidden size={16} className={`mt-0.5 shrink-0 ${passed ? "text-ok" : "text-bad"}`} />
        <code className="min-w-0 grow wrap-anywhere">{c.command}</code>
        <span className="shrink-0 text-muted">{`${passed ? "passed" : c.timed_out === true ? "timed out" : `exit ${c.exit}`}, ${tookText(c.took)}`}</span>
      </p>
      {c.output !== undefined && c.output !== "" && <Output text={c.output} open={!passed} label="End of its output" />}
    </>
  );
}

function Besides({ title, run, nodes }: { title: string; run: string; nodes: readonly Api<"Beside">[] }) {
  if (nodes.length === 0) {
    return null;
  }
  return (
    <div className="mb-2">
      <h3 className="text-muted">{`${title} (${count(nodes.length, "node")})`}</h3>
      <ul className="flex flex-wrap gap-2">
        {nodes.map((b) => (
          <li key={b.name} className="inline-flex min-h-8 items-center gap-1">
            <Link to={`/runs/${encodeURIComponent(run)}/nodes/${encodeURIComponent(b.name)}`} className="text-accent underline wrap-anywhere">
              {b.name}
            </Link>
            <Label>{labelText(b.label)}</Label>
          </li>
        ))}
      </ul>
    </div>
  );
}
