import type { UseQueryResult } from "@tanstack/react-query";
import { Suspense, useMemo, useState } from "react";
import { useSearchParams } from "react-router";

import { useAgents } from "@/agents/agents";
import { chart, type By } from "@/budget/series";
import { hooks, type Api } from "@/api/client";
import { Field, Select } from "@/ui/field";
import { grouped, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { lazily } from "@/ui/lazily";
import { Page, Panel } from "@/ui/page";
import { Answer, Loading } from "@/ui/states";
import { moment } from "@/ui/time";

const TokenChart = lazily(() => import("@/budget/TokenChart"));

const spans = [
  ["6h", "The last 6 hours", 300],
  ["24h", "The last day", 3600],
  ["168h", "The last week", 21_600],
  ["720h", "The last 30 days", 86_400],
] as const;

/** The tokens that were used, over time, by agent and model; limits and when they end. */
export default function BudgetPage() {
  const spending = hooks.useQuery("get", "/api/budget/summary");
  const limits = hooks.useQuery("get", "/api/limits");
  return (
    <Page title="Budget" about={spending.data && <span>{tokens(spending.data.counted)} tokens count in all</span>} ready={!spending.isPending}>
      <div className="flex flex-col gap-4 p-4">
        <OverTime />
        <Limits limits={limits} />
        <Panel title="By agent" ready={!limits.isPending}>
          <Answer query={spending}>
            {(s) =>
              s.agents.length === 0 ? (
                <p className="text-muted">No agent has used any yet.</p>
              ) : (
                <div tabIndex={0} role="region" aria-label="Tokens by agent" className="overflow-x-auto">
                  <table className="w-full border-collapse text-left">
                    <thead>
                      <tr className="border-b border-line-strong">
                        {["Agent", "Counted", "Input", "Output", "Cache written", "Cache read"].map((h, i) => (
                          <th key={h} scope="col" className={`px-2 py-1 ${i > 0 ? "text-right" : ""}`}>
                            {h}
                          </th>
                        ))}
                      </tr>
                    </thead>
                    <tbody>
                      {[...s.agents]
                        .sort((a, b) => b.counted - a.counted)
                        .map((a) => (
                          <tr key={a.agent_id} className="border-b border-line">
                            <th scope="row" className="min-w-28 px-2 py-1 text-left font-medium wrap-anywhere">
                              {a.name} <span className="text-muted">{a.kind}</span>
                            </th>
                            {[a.counted, a.used.input, a.used.output, a.used.cache_create, a.used.cache_read].map((n, i) => (
                              <td key={i} className="px-2 py-1 text-right" title={grouped(n)}>
                                {tokens(n)}
                              </td>
                            ))}
                          </tr>
                        ))}
                    </tbody>
                  </table>
                </div>
              )
            }
          </Answer>
        </Panel>
      </div>
    </Page>
  );
}

function OverTime() {
  const [params, setParams] = useSearchParams();
  const since = spans.find(([s]) => s === params.get("since")) ?? spans[1];
  const [by, setBy] = useState<By>("agent");
  const history = hooks.useQuery("get", "/api/budget/history", { params: { query: { since: since[0], step: since[2] } } });
  const data = useMemo(() => history.data && chart(history.data, by), [history.data, by]);
  return (
    <Panel
      title="Over time"
      actions={
        <>
          <Field label="By" hidden>
            {(ids) => (
              <Select
                {...ids}
                className="min-w-28"
                options={[
                  ["agent", "By agent"],
                  ["model", "By model"],
                  ["program", "By program"],
                ]}
                value={by}
                onChange={(e) => setBy(e.target.value as By)}
              />
            )}
          </Field>
          <Field label="Since" hidden>
            {(ids) => <Select {...ids} options={spans.map(([s, text]) => [s, text] as const)} value={since[0]} onChange={(e) => setParams({ since: e.target.value }, { replace: true })} />}
          </Field>
        </>
      }
    >
      <div className="min-h-72">
        <Answer query={history} loading={<Loading rows={6} />}>
          {(h) =>
            !data || data.times.length === 0 ? (
              <p className="text-muted">No tokens were used in this time.</p>
            ) : (
              <>
                <Suspense fallback={<Loading rows={6} />}>
                  <TokenChart chart={data} label={`Tokens over time by ${by}`} />
                </Suspense>
                {h.cut && <p className="text-muted">There is more than can be drawn: the oldest is left out.</p>}
              </>
            )
          }
        </Answer>
      </div>
    </Panel>
  );
}

/** The accounts that have met a limit, and the agents that rest until theirs is over. */
function Limits({ limits }: { limits: UseQueryResult<Api<"ListAccountLimit">, unknown> }) {
  const resting = (useAgents().data?.items ?? []).filter((a) => a.state === "limited");
  return (
    <Panel title="Limits">
      <Answer query={limits}>
        {({ items }) =>
          items.length === 0 && resting.length === 0 ? (
            <p className="text-muted">No account has met a limit.</p>
          ) : (
            <ul className="flex flex-col gap-2">
              {items.map((l) => (
                <Limit key={`${l.account} ${l.run} ${l.node}`} limited={l.limited} who={l.account === "" ? "the default account" : l.account} until={l.until} about={l.said} />
              ))}
              {resting.map((a) => (
                <Limit key={`agent ${a.name}`} limited who={a.name} until={a.until ?? null} about={a.detail ?? ""} />
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  );
}

function Limit({ limited, who, until, about }: { limited: boolean; who: string; until: string | null; about: string }) {
  return (
    <li className="flex flex-wrap items-baseline gap-2">
      <Label tone={limited ? "warn" : "ok"}>{limited ? "limited" : "free again"}</Label>
      <strong className="wrap-anywhere">{who}</strong>
      {until !== null && until !== "" && (
        <span>
          wakes <time dateTime={until}>{moment(until)}</time>
        </span>
      )}
      <span className="min-w-0 text-muted wrap-anywhere">{about}</span>
    </li>
  );
}
