import { Plus } from "lucide-react";
import { useState } from "react";

import { AgentCard } from "@/agents/AgentCard";
import { called, grouped, matches, outOfRooms, toneOfAgent, useAgents, type Agent } from "@/agents/agents";
import { AgentMenu } from "@/agents/AgentMenu";
import { Archives } from "@/agents/Archives";
import { Locks } from "@/agents/Locks";
import { SpawnDialog } from "@/agents/SpawnDialog";
import { Teams } from "@/agents/Teams";
import { AtWork } from "@/agents/AtWork";
import { Rests, StartOrganization, StopOrganization } from "@/agents/OrganizationOrders";
import { useHeartbeat } from "@/health/queries";
import { Button } from "@/ui/button";
import { Field, Input } from "@/ui/field";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Page } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";
import { Tabs } from "@/ui/tabs";
import { Ago } from "@/ui/time";
import { Link } from "react-router";

export default function AgentsPage() {
  const agents = useAgents();
  const heartbeat = useHeartbeat();
  const state = heartbeat.data?.state;
  const [spawning, spawn] = useState(false);
  const [typed, type] = useState("");
  const seen = (all: readonly Agent[]) => outOfRooms(all).filter((a) => matches(a, typed));
  const none = (
    <Empty title="This project has no organization" action={<StartOrganization />}>
      An organization has a supervisor that you talk to, and workers that it or you spawn. A run brings its own agents: while they work, they stand here too. <Link to="/runs" className="text-accent underline">See the runs</Link>.
    </Empty>
  );
  return (
    <Page
      title="Agents"
      about={agents.data && <span>{count(outOfRooms(agents.data.items).length, "agent")}</span>}
      actions={
        <>
          <Field label="Find an agent" hidden>
            {(ids) => <Input {...ids} type="search" placeholder="Find" value={typed} onChange={(e) => type(e.target.value)} />}
          </Field>
          {state === "running" && (
            <>
              <Button icon={<Plus aria-hidden size={16} />} onClick={() => spawn(true)}>
                Spawn
              </Button>
              <StopOrganization />
            </>
          )}
        </>
      }
      ready={!agents.isPending && !heartbeat.isPending}
    >
      <Rests />
      <Tabs
        label="Ways to look at the agents"
        tabs={[
          { id: "cards", label: "Cards", content: () => (
            <>
              <AtWork />
              <Answer query={agents}>{({ items }) => (items.length === 0 ? none : <Cards agents={seen(items)} />)}</Answer>
            </>
          ) },
          { id: "list", label: "List", content: () => <Answer query={agents}>{({ items }) => (items.length === 0 ? none : <Table agents={seen(items)} />)}</Answer> },
          { id: "removed", label: "Removed", content: () => <Archives /> },
          { id: "teams", label: "Teams", content: () => <Teams /> },
          { id: "locks", label: "Locks", content: () => <Locks /> },
        ]}
      />
      {spawning && <SpawnDialog onClose={() => spawn(false)} />}
    </Page>
  );
}

function Cards({ agents }: { agents: readonly Agent[] }) {
  return (
    <div className="flex flex-col gap-4 p-4">
      {agents.length === 0 && <p className="text-muted">No agent has these words.</p>}
      {grouped(agents).map((g) => (
        <section key={g.label} aria-label={g.label}>
          <h2 className="mb-2 font-semibold">{g.label}</h2>
          <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(18rem,100%),1fr))] gap-3">
            {g.agents.map((a) => (
              <AgentCard key={a.name} agent={a} />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

function Table({ agents }: { agents: readonly Agent[] }) {
  return (
    <div tabIndex={0} role="region" aria-label="Agents as a table" className="overflow-x-auto p-4">
      <table className="w-full border-collapse text-left">
        <thead>
          <tr className="border-b border-line-strong">
            {["Agent", "State", "Since", "Task", "Does", "Tokens", "Actions"].map((h) => (
              <th key={h} scope="col" className="px-2 py-1 font-semibold">
                {h}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {agents.map((a) => (
            <tr key={a.name} className="border-b border-line">
              <th scope="row" className="px-2 py-1 text-left font-medium">
                <Link to={`/agents/${encodeURIComponent(a.name)}`} className="hover:underline">
                  {called(a)}
                </Link>
              </th>
              <td className="px-2 py-1">
                <Label tone={toneOfAgent(a)}>{a.state}</Label>
              </td>
              <td className="px-2 py-1">{a.since !== null && <Ago at={a.since} />}</td>
              <td className="px-2 py-1">{a.task}</td>
              <td className="max-w-80 truncate px-2 py-1">{a.doing}</td>
              <td className="px-2 py-1">{tokens(a.tokens)}</td>
              <td className="px-2 py-1">
                <AgentMenu agent={a} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
