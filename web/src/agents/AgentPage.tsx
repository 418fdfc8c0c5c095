import { useState } from "react";
import { Link, useParams } from "react-router";

import { Context } from "@/agents/AgentCard";
import { AgentMenu } from "@/agents/AgentMenu";
import { called, toneOfAgent, type Agent } from "@/agents/agents";
import { AgentNow } from "@/agents/AgentNow";
import { AgentLog } from "@/agents/AgentLog";
import { hooks } from "@/api/client";
import { visible } from "@/changes/visible";
import { ChatInput } from "@/chat/ChatInput";
import { ChatMessages } from "@/chat/ChatMessages";
import { InboxView } from "@/chat/InboxView";
import { LazyTerminal } from "@/terminal/LazyTerminal";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Page, Panel } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";
import { Tabs } from "@/ui/tabs";
import { Ago, moment } from "@/ui/time";

/** All that is known of a standing agent. */
export default function AgentPage() {
  const { name = "" } = useParams();
  const agent = hooks.useQuery("get", "/api/agents/{name}", { params: { path: { name } } });
  const a = agent.data;
  return (
    <Page
      title={a ? called(a) : name}
      about={
        a && (
          <>
            <Label tone={toneOfAgent(a)}>{a.state}</Label>
            {a.since !== null && <Ago at={a.since} />}
            {a.doing !== undefined && a.doing !== "" && <span className="wrap-anywhere">{visible(a.doing)}</span>}
            {a.task !== undefined && a.task !== "" && (
              <Link to={`/tasks/${encodeURIComponent(a.task)}`} className="text-accent underline">
                {a.task}
              </Link>
            )}
            {a.context !== undefined && <Context share={a.context.share} />}
          </>
        )
      }
      actions={a && <AgentMenu agent={a} labeled />}
      ready={!agent.isPending}
    >
      <Answer query={agent}>
        {(found) => (
          <Tabs
            label={`What is known of ${name}`}
            tabs={[
              {
                id: "conversation",
                label: "Conversation",
                content: () => <Talk key={name} agent={found} />,
              },
              { id: "inbox", label: "Inbox", badge: found.waiting?.length, content: () => <InboxView key={found.name} agent={found} /> },
              { id: "terminal", label: "Terminal", content: () => <LazyTerminal key={found.lives} source={{ kind: "agent", name }} name={name} /> },
              { id: "log", label: "Log", content: () => <AgentLog name={name} /> },
              { id: "about", label: "About", content: () => <About agent={found} /> },
              { id: "tasks", label: "Tasks", content: () => <Tasks name={name} /> },
            ]}
          />
        )}
      </Answer>
    </Page>
  );
}

function Talk({ agent }: { agent: Agent }) {
  const [sent, send] = useState<number>();
  return (
    <div className="flex min-h-0 grow flex-col">
      <AgentNow agent={agent} />
      <div className="min-h-60 grow">
        <ChatMessages name={agent.name} all {...(sent === undefined ? {} : { sent })} />
      </div>
      <ChatInput agent={agent} onSent={() => send((n = 0) => n + 1)} />
    </div>
  );
}

function About({ agent: a }: { agent: Agent }) {
  const rows: readonly (readonly [string, React.ReactNode])[] = [
    ["Name", a.name],
    ["Role", a.role + (a.permanent ? " (permanent)" : "")],
    ["Program", [a.kind, a.model].filter((x) => x !== undefined && x !== "").join(", ")],
    ["Team", a.team],
    ["Reports to", a.supervisor],
    ["Task", a.task !== undefined && a.task !== "" && <Link className="text-accent underline" to={`/tasks/${encodeURIComponent(a.task)}`}>{a.task}</Link>],
    ["Why", a.detail],
    ["Warning", a.warning],
    ["Waiting mail", a.waiting && a.waiting.length > 0 && `${a.waiting.join(", ")}${a.hinders === undefined ? "" : `: ${a.hinders}`}`],
    ["Until", a.until !== undefined && a.until !== "" && moment(a.until)],
    ["Folder", a.dir],
    ["Branch", a.branch],
    ["Role file", a.role_context],
    ["Tokens", tokens(a.tokens)],
    ["Context", a.context && <Context share={a.context.share} />],
    ["Compactions", a.compactions],
    ["Lives", a.lives],
    ["Resets", `${a.reset_count}, ${count(a.tasks_since_reset, "task")} since`],
    ["Last reset", a.last_reset_at !== undefined && a.last_reset_at !== "" && <Ago at={a.last_reset_at} />],
  ];
  return (
    <div className="p-4">
      <Panel title="About">
        <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
          {rows
            .filter(([, value]) => value !== undefined && value !== "" && value !== false)
            .map(([label, value]) => (
              <div key={label} className="contents">
                <dt className="text-muted">{label}</dt>
                <dd className="min-w-0 wrap-anywhere">{value}</dd>
              </div>
            ))}
        </dl>
      </Panel>
    </div>
  );
}

function Tasks({ name }: { name: string }) {
  const tasks = hooks.useQuery("get", "/api/tasks", { params: { query: { agent: name, all: true, limit: 200 } } });
  return (
    <Answer query={tasks}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty title="It has no tasks" />
        ) : (
          <ul className="flex flex-col gap-2 p-4">
            {items.map((t) => (
              <li key={t.id} className="flex flex-wrap items-center gap-2 rounded-lg border border-line bg-surface p-3">
                <Link to={`/tasks/${encodeURIComponent(t.id)}`} className="font-medium wrap-anywhere hover:underline">
                  {t.id} {t.title}
                </Link>
                <Label>{t.label}</Label>
              </li>
            ))}
          </ul>
        )
      }
    </Answer>
  );
}
