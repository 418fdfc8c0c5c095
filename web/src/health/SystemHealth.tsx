import { Link } from "react-router";

import { toneOfAgent } from "@/agents/agents";
import { useHeartbeat, useRecovery } from "@/health/queries";
import { useLog } from "@/live/store";
import { Label } from "@/ui/label";
import { Panel } from "@/ui/page";
import { Answer } from "@/ui/states";
import { Ago } from "@/ui/time";

/** The organization at a glance: its server, monitor, agents, mail and health. */
export function SystemHealth() {
  const heartbeat = useHeartbeat();
  const recovery = useRecovery();
  const beat = useLog((l) => l.heartbeat?.at);
  return (
    <Answer query={heartbeat}>
      {(o) => (
        <div className="grid gap-4 p-4 md:grid-cols-2">
          <Panel title="Organization" actions={<Label tone={o.state === "running" ? "ok" : "warn"}>{o.state}</Label>}>
            <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
              <Row label="Server">{o.server ? (o.server.up ? "up" : `down${o.server.why === undefined ? "" : `: ${o.server.why}`}`) : "unknown"}</Row>
              <Row label="Heartbeat">{beat === undefined ? "not seen yet" : <><Ago at={beat} /> ago</>}</Row>
              <Row label="Session">{o.session ?? "none"}</Row>
              <Row label="Integration branch">{o.integration ?? "none"}</Row>
              <Row label="Permissions">{o.permissions ?? "unknown"}</Row>
              <Row label="Messages">
                {o.undelivered} undelivered, {o.unread} unread for you
              </Row>
              <Row label="Runs">{o.runs.length === 0 ? "none" : o.runs.map((r) => `${r.id} ${r.state} ${r.done}/${r.nodes}`).join(", ")}</Row>
            </dl>
            {(o.faults ?? []).map((f) => (
              <p key={f} className="mt-2 text-bad wrap-anywhere">
                {f}
              </p>
            ))}
          </Panel>
          <Panel title="Project">
            <Answer query={recovery}>
              {(r) => (
                <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
                  <Row label="Health command">{r.command === "" ? "none: set health.command in the configuration" : <code>{r.command}</code>}</Row>
                  {r.command !== "" && (
                    <>
                      <Row label="Last check">{r.checked_at === null ? "not yet" : <><Ago at={r.checked_at} /> ago</>}</Row>
                      <Row label="Failures in a row">{r.fails}</Row>
                      <Row label="Last healthy commit">{r.healthy === "" ? "none" : <code>{r.healthy.slice(0, 12)}</code>}</Row>
                    </>
                  )}
                </dl>
              )}
            </Answer>
          </Panel>
          <Panel title="Agents" ready={!recovery.isPending}>
            {o.agents.length === 0 ? (
              <p className="text-muted">There are none.</p>
            ) : (
              <ul className="flex flex-col gap-1">
                {o.agents.map((a) => (
                  <li key={a.name} className="flex min-w-0 items-center gap-2">
                    <Link to={`/agents/${encodeURIComponent(a.name)}`} className="min-w-0 truncate font-medium hover:underline">
                      {a.name}
                    </Link>
                    <Label tone={toneOfAgent(a)}>{a.state}</Label>
                    {a.warning !== undefined && a.warning !== "" && <span className="min-w-0 truncate text-warn">{a.warning}</span>}
                  </li>
                ))}
              </ul>
            )}
          </Panel>
          <Panel title="Open incidents" ready={!recovery.isPending}>
            {o.incidents.length === 0 ? (
              <p className="text-muted">There are none.</p>
            ) : (
              <ul className="flex flex-col gap-1">
                {o.incidents.map((i) => (
                  <li key={i.id} className="wrap-anywhere">
                    <Link to={`/health?tab=incidents&incident=${encodeURIComponent(i.id)}`} className="hover:underline">
                      {i.title}
                    </Link>
                  </li>
                ))}
              </ul>
            )}
          </Panel>
        </div>
      )}
    </Answer>
  );
}

export function Row({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <div className="contents">
      <dt className="text-muted">{label}</dt>
      <dd className="min-w-0 wrap-anywhere">{children}</dd>
    </div>
  );
}
