import { useState } from "react";
import { NavLink, useParams } from "react-router";

import { AgentMenu } from "@/agents/AgentMenu";
import { AgentNow } from "@/agents/AgentNow";
import { Rests, StartOrganization } from "@/agents/OrganizationOrders";
import { called, grouped, outOfRooms, toneOfAgent, useAgents, type Agent } from "@/agents/agents";
import { ChatInput } from "@/chat/ChatInput";
import { ChatMessages } from "@/chat/ChatMessages";
import { InboxView } from "@/chat/InboxView";
import { Panes } from "@/layout/Panes";
import { Label } from "@/ui/label";
import { Page } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";

/** The conversation with an agent: the supervisor, if no other is named. */
export default function ChatPage() {
  const { name = "supervisor" } = useParams();
  const agents = useAgents();
  const agent = agents.data?.items.find((a) => a.name === name);
  return (
    <Page
      title={`Chat with ${agent ? called(agent) : name}`}
      about={
        agent && (
          <>
            <Label tone={toneOfAgent(agent)}>{agent.state}</Label>
            {agent.doing !== undefined && agent.doing !== "" && <span className="wrap-anywhere">{agent.doing}</span>}
          </>
        )
      }
      actions={agent && <AgentMenu agent={agent} labeled />}
      ready={!agents.isPending}
    >
      <Rests />
      <Answer query={agents}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="There is nobody to talk to" action={<StartOrganization />}>
              An organization has a supervisor, to whom you say what should be done.
            </Empty>
          ) : !agent ? (
            <Empty title={`There is no agent ${name}`}>
              <Others agents={items} />
            </Empty>
          ) : (
            <Panes
              id="chat"
              main="chat"
              panes={[
                { id: "agents", label: "Agents", size: 18, least: 12, content: <Others agents={items} /> },
                { id: "chat", label: "Conversation", size: 57, least: 30, content: <Conversation key={name} agent={agent} /> },
                { id: "inbox", label: "Inbox", size: 25, content: <InboxView key={name} agent={agent} /> },
              ]}
            />
          )
        }
      </Answer>
    </Page>
  );
}

function Others({ agents }: { agents: readonly Agent[] }) {
  return (
    <nav aria-label="Agents" tabIndex={0} className="h-full overflow-y-auto p-2">
      {grouped(outOfRooms(agents)).map((g) => (
        <div key={g.label} className="mb-2">
          <h2 className="px-2 text-sm font-semibold text-muted">{g.label}</h2>
          <ul>
            {g.agents.map((a) => (
              <li key={a.name}>
                <NavLink
                  to={`/chat/${encodeURIComponent(a.name)}`}
                  className={({ isActive }) => `flex min-h-8 items-center gap-2 rounded-md px-2 ${isActive ? "bg-accent-soft text-accent" : "hover:bg-sunken"}`}
                >
                  <span className="min-w-0 grow truncate text-left">{called(a)}</span>
                  <Label tone={toneOfAgent(a)}>{a.state}</Label>
                </NavLink>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

function Conversation({ agent }: { agent: Agent }) {
  const [all, showAll] = useState(true);
  const [sent, send] = useState<number>();
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="flex shrink-0 items-center gap-3 border-b border-line px-3 py-1">
        <label className="flex min-h-7 items-center gap-2">
          <input type="checkbox" checked={all} onChange={(e) => showAll(e.target.checked)} />
          Show thoughts and tool calls
        </label>
      </div>
      <div className="min-h-0 grow">
        <ChatMessages name={agent.name} all={all} {...(sent === undefined ? {} : { sent })} />
      </div>
      <AgentNow agent={agent} />
      <ChatInput key={agent.name} agent={agent} onSent={() => send((n = 0) => n + 1)} />
    </div>
  );
}
