import { Link, useParams } from "react-router";

import { hooks, type Api } from "@/api/client";
import { Changes } from "@/changes/Changes";
import { Conversation } from "@/conversation/Conversation";
import { LogView } from "@/log/LogView";
import { Attempts } from "@/node/Attempts";
import { Overview } from "@/node/Overview";
import { PromptView } from "@/node/PromptView";
import { NodeReview } from "@/review/NodeReview";
import { NodeTime } from "@/runs/NodeTime";
import { LazyTerminal } from "@/terminal/LazyTerminal";
import { labelText, live, spansOf, stageOf, talksNow } from "@/node/words";
import { Label } from "@/ui/label";
import { Page } from "@/ui/page";
import { Answer } from "@/ui/states";
import { Tabs, type Tab } from "@/ui/tabs";

export default function NodePage() {
  const { id = "", name = "" } = useParams();
  const node = hooks.useQuery("get", "/api/runs/{id}/nodes/{node}", { params: { path: { id, node: name } } });
  const run = hooks.useQuery("get", "/api/runs/{id}", { params: { path: { id } } });
  const n = node.data;
  return (
    <Page
      title={name}
      about={
        <>
          {n && <Label>{labelText(n.label)}</Label>}
          {n && <NodeTime node={{ since: n.since, spans: spansOf(n.attempts), status: n.label }} />}
          <Link to={`/runs/${encodeURIComponent(id)}`} className="inline-flex min-h-6 items-center text-accent underline">
            {`Run ${run.data?.run?.session ?? id}`}
          </Link>
        </>
      }
      ready={!node.isPending}
    >
      <Answer query={node}>{(data) => <Tabs label="Parts of the node" tabs={tabsOf(id, name, data)} />}</Answer>
    </Page>
  );
}

/** What there is to see of a node: a gate has no agent. */
function tabsOf(run: string, node: string, n: Api<"Inspection">): Tab[] {
  const overview: Tab = { id: "overview", label: "Overview", content: () => <Overview run={run} node={n} /> };
  if (n.role === "gate") {
    return [overview];
  }
  const source = { kind: "node", run, node } as const;
  const running = live(n.label.state);
  const talks = n.agent !== "command" && !talksNow(stageOf(n.label)); // a command has no conversation, and the overview shows the one that is live
  return [
    overview,
    ...(talks ? [{ id: "conversation", label: "Conversation", content: () => <Conversation source={source} /> }] : []),
    ...(running ? [{ id: "terminal", label: "Terminal", content: () => <LazyTerminal key={n.attempts.length} source={source} name={node} /> }] : []),
    ...(n.branch === undefined || n.branch === "" ? [] : [{ id: "changes", label: "Changes", content: () => <Changes source={source} comment={n.agent !== "command"} /> }]),
    { id: "log", label: "Log", content: () => <LogView source={source} live={running} /> },
    { id: "prompt", label: "Prompt", content: () => <PromptView run={run} node={node} attempts={n.attempts.length} /> },
    { id: "attempts", label: "Attempts", badge: n.attempts.length, content: () => <Attempts attempts={n.attempts} /> },
    ...(n.branch === undefined || n.branch === "" ? [] : [{ id: "review", label: "Review", content: () => <NodeReview run={run} node={node} /> }]),
  ];
}
