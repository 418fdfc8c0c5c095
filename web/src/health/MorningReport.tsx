import { useState } from "react";
import { Link } from "react-router";

import { hooks } from "@/api/client";
import { Field, Select } from "@/ui/field";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Panel } from "@/ui/page";
import { Answer } from "@/ui/states";
import { moment } from "@/ui/time";

const spans = [
  ["8h", "The last 8 hours"],
  ["12h", "The last 12 hours"],
  ["24h", "The last day"],
  ["168h", "The last week"],
] as const;

/** A share of the time, as a person says it. */
function shareText(share: number): string {
  const percent = Math.round(share * 100);
  return percent === 0 && share > 0 ? "under 1%" : `${percent}%`;
}

/** What happened while nobody looked: what ended, what broke, who used how much, what waits. */
export function MorningReport() {
  const [since, setSince] = useState("12h");
  const report = hooks.useQuery("get", "/api/report", { params: { query: { since } } }, { staleTime: 0 });
  return (
    <div className="flex flex-col gap-4 p-4">
      <div className="max-w-60">
        <Field label="Since" hidden>
          {(ids) => <Select {...ids} options={spans} value={since} onChange={(e) => setSince(e.target.value)} />}
        </Field>
      </div>
      <Answer query={report}>
        {(r) => (
          <>
            <p className="text-muted">
              {moment(r.since)} to {moment(r.until)}: {count(r.tasks.length, "task")} ended, {tokens(r.tokens)} tokens.
            </p>
            <div className="grid gap-4 lg:grid-cols-2">
              <Panel title="What waits for you" actions={r.waiting.length > 0 && <Link to="/" className="text-accent hover:underline">Decide</Link>}>
                {r.waiting.length === 0 ? (
                  <p className="text-muted">Nothing.</p>
                ) : (
                  <ul className="flex flex-col gap-1">
                    {r.waiting.map((w, i) => (
                      <li key={i} className="wrap-anywhere">
                        {w.what}
                      </li>
                    ))}
                  </ul>
                )}
              </Panel>
              <Panel title="Incidents">
                {r.incidents.length === 0 ? (
                  <p className="text-muted">None.</p>
                ) : (
                  <ul className="flex flex-col gap-1">
                    {r.incidents.map((i) => (
                      <li key={i.id} className="flex flex-wrap gap-2">
                        <Label tone={i.state === "open" ? "bad" : "muted"}>{i.state}</Label>
                        <Link to={`/health?tab=incidents&incident=${encodeURIComponent(i.id)}`} className="min-w-0 wrap-anywhere hover:underline">
                          {i.title}
                        </Link>
                      </li>
                    ))}
                  </ul>
                )}
              </Panel>
              <Panel title="Tasks that ended">
                {r.tasks.length === 0 ? (
                  <p className="text-muted">None.</p>
                ) : (
                  <ul className="flex flex-col gap-2">
                    {r.tasks.map((t) => (
                      <li key={t.id}>
                        <p className="flex flex-wrap items-center gap-2">
                          <Link to={`/tasks/${encodeURIComponent(t.id)}`} className="min-w-0 font-medium wrap-anywhere hover:underline">
                            {t.id} {t.title}
                          </Link>
                          <Label>{t.label}</Label>
                          <span className="text-muted">
                            {t.agent}, {count(t.commits, "commit")}, {tokens(t.tokens)} tokens
                          </span>
                        </p>
                        {t.summary !== "" && <p className="line-clamp-3 text-muted wrap-anywhere">{t.summary}</p>}
                      </li>
                    ))}
                  </ul>
                )}
              </Panel>
              <Panel title="Agents">
                {r.agents.length === 0 ? (
                  <p className="text-muted">None.</p>
                ) : (
                  <ul className="flex flex-col gap-1">
                    {r.agents.map((a) => (
                      <li key={a.name} className="flex flex-wrap gap-2">
                        <strong>{a.name}</strong>
                        <Label>{a.state}</Label>
                        <span className="text-muted">
                          at work {shareText(a.busy)} of the time, {count(a.tasks, "task")}, {tokens(a.tokens)} tokens
                        </span>
                      </li>
                    ))}
                  </ul>
                )}
              </Panel>
            </div>
          </>
        )}
      </Answer>
    </div>
  );
}
