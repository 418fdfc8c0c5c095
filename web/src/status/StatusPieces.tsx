import { Activity, Coins, HeartPulse, Hourglass } from "lucide-react";
import { Link } from "react-router";

import { hooks } from "@/api/client";
import { today } from "@/status/today";
import { useLog } from "@/live/store";
import { count, tokens } from "@/ui/figures";
import { Ago, clock } from "@/ui/time";

const piece = "inline-flex min-h-6 items-center gap-1 whitespace-nowrap hover:underline";

/** The status bar's figures: heartbeat, health, tokens of today, limits. */
export default function StatusPieces() {
  return (
    <div className="hidden items-center gap-4 sm:flex">
      <Heartbeat />
      <Health />
      <Tokens />
      <Limits />
    </div>
  );
}

/** The supervisor's pulse: when the organization was last heard, and how it stands. */
function Heartbeat() {
  const heartbeat = hooks.useQuery("get", "/api/heartbeat");
  const beat = useLog((l) => l.heartbeat?.at);
  const state = heartbeat.data?.state;
  if (state === "none") {
    return (
      <Link to="/agents" className={`${piece} text-muted`} title="Agents that stay, and a supervisor that you talk to, are started on the page of agents.">
        no organization
      </Link>
    );
  }
  const tone = state === "running" ? "text-ok" : state === undefined ? "text-muted" : "text-warn";
  return (
    <Link to="/health" className={piece} title="The organization, and when its monitor was last heard">
      <Activity aria-hidden size={14} className={tone} />
      <span className="sr-only">Organization</span>
      {state ?? "unknown"}
      {beat !== undefined && state === "running" && <Ago at={beat} className="text-muted" />}
    </Link>
  );
}

function Health() {
  const heartbeat = hooks.useQuery("get", "/api/heartbeat");
  const without = heartbeat.data?.state === "none"; // nobody looks at the health
  const recovery = hooks.useQuery("get", "/api/recover", {}, { enabled: heartbeat.data !== undefined && !without });
  const incidents = heartbeat.data?.incidents.length ?? 0;
  const r = recovery.data;
  const bad = incidents > 0 || (r !== undefined && r.fails > 0);
  if (without && incidents === 0) {
    return null;
  }
  const text = incidents > 0 ? count(incidents, "incident") : r === undefined ? "unknown" : r.command === "" ? "no incident" : r.fails > 0 ? `failed ${r.fails} times` : "healthy";
  return (
    <Link to={incidents > 0 ? "/health?tab=incidents" : "/health"} className={piece} title="Health">
      <HeartPulse aria-hidden size={14} className={bad ? "text-bad" : "text-ok"} />
      <span className="sr-only">Health</span>
      {text}
    </Link>
  );
}

function Tokens() {
  const history = hooks.useQuery("get", "/api/budget/history", { params: { query: { since: "24h", step: 3600 } } });
  return (
    <Link to="/budget" className={piece} title="Budget: tokens used today">
      <Coins aria-hidden size={14} className="text-muted" />
      {history.data === undefined ? "–" : tokens(today(history.data, new Date()))} tokens today
    </Link>
  );
}

function Limits() {
  const limits = hooks.useQuery("get", "/api/limits");
  const met = (limits.data?.items ?? []).filter((l) => l.limited);
  const first = met.flatMap((l) => (l.until === null ? [] : [l.until])).sort((a, b) => Date.parse(a) - Date.parse(b))[0];
  if (met.length === 0) {
    return null;
  }
  return (
    <Link to="/budget" className={`${piece} text-warn`} title="Limits">
      <Hourglass aria-hidden size={14} />
      {count(met.length, "limit")}
      {first !== undefined && `, until ${clock(new Date(first))}`}
    </Link>
  );
}
