import { clsx } from "clsx";
import { NavLink } from "react-router";

import { called, outOfRooms, toneOfAgent, useAgents } from "@/agents/agents";
import { tree } from "@/agents/tree";
import type { Tone } from "@/ui/label";

const dots: Readonly<Record<Tone, string>> = { ok: "bg-ok", warn: "bg-warn", bad: "bg-bad", info: "bg-info", muted: "bg-line-strong" };

/** How many agents the sidebar shows; the page of agents has them all. */
const most = 30;

/** The agents below those whom they report to, with how they are. */
export function AgentTree({ onGo }: { onGo: () => void }) {
  const agents = outOfRooms(useAgents().data?.items ?? []);
  if (agents.length === 0) {
    return null;
  }
  const all = tree(agents);
  return (
    <div>
      <h2 className="px-2 pb-1 text-sm font-semibold text-muted">Agents</h2>
      <ul aria-label="Agents, below those whom they report to">
        {all.slice(0, most).map(({ agent: a, depth }) => (
          <li key={a.name} style={{ paddingLeft: `${Math.min(depth, 3) * 0.75}rem` }}>
            <NavLink
              to={`/agents/${encodeURIComponent(a.name)}`}
              onClick={onGo}
              title={`${a.name}: ${a.state}`}
              className={({ isActive }) => clsx("flex min-h-7 items-center gap-2 rounded-md px-2", isActive ? "bg-accent-soft font-medium text-accent" : "hover:bg-sunken")}
            >
              <span aria-hidden className={clsx("size-2 shrink-0 rounded-full", dots[toneOfAgent(a)])} />
              <span className="min-w-0 grow truncate">{called(a)}</span>
              <span className={a.state === "needs input" || a.state === "down" ? "shrink-0 text-sm text-muted" : "sr-only"}>{a.state}</span>
            </NavLink>
          </li>
        ))}
      </ul>
      {all.length > most && (
        <NavLink to="/agents" onClick={onGo} className="flex min-h-7 items-center px-2 text-accent hover:underline">
          All {all.length}
        </NavLink>
      )}
    </div>
  );
}
