import { clsx } from "clsx";
import { useCallback, useMemo } from "react";
import { Link, useParams, useSearchParams } from "react-router";

import { hooks, type Api } from "@/api/client";
import { stageOf } from "@/node/words";
import { attemptBars } from "@/runs/bars";
import { BarsView } from "@/runs/BarsView";
import { counted, duration, tellingChain, took, works } from "@/runs/figures";
import { Flow } from "@/runs/graph/Flow";
import { nodeCard, sameNode } from "@/runs/NodeCard";
import { NodePanel } from "@/runs/NodePanel";
import { NodeTable } from "@/runs/NodeTable";
import { RunActions } from "@/runs/RunActions";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Page } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";
import { Tabs } from "@/ui/tabs";
import { Ago, exact, useClock, useNow } from "@/ui/time";

/** A run: its graph, its attempts in time, its nodes, and what can be ordered. */
export default function RunPage() {
  const { id = "" } = useParams();
  const graph = hooks.useQuery("get", "/api/runs/{id}/graph", { params: { path: { id } } });
  const data = graph.data;
  return (
    <Page
      title={data ? `Run of ${data.run.session}` : "Run"}
      about={data && <About graph={data} />}
      actions={data && <RunActions graph={data} />}
      ready={!graph.isPending}
    >
      <Answer query={graph}>
        {(g) => (
          <>
            <Facts graph={g} />
            <Body graph={g} />
          </>
        )}
      </Answer>
    </Page>
  );
}

const states = [
  ["asks", "waits for you", "wait for you", "text-warn"],
  ["failed", "failed", "failed", "text-bad"],
  ["works", "runs", "run", "text-info"],
  ["waits", "waits", "wait", ""],
] as const;

function About({ graph: { run, nodes } }: { graph: Api<"RunGraph"> }) {
  const stages = nodes.map((n) => stageOf(n.status));
  return (
    <>
      <Label>{run.state}</Label>
      <span className="text-text">
        {stages.filter((s) => s === "done").length} of {count(nodes.length, "node")} done
      </span>
      {states.map(([stage, one, many, color]) => {
        const names = nodes.filter((_, i) => stages[i] === stage).map((n) => n.name);
        return (
          names.length > 0 && (
            <Link key={stage} to={names.length === 1 ? `?node=${encodeURIComponent(names[0] ?? "")}` : stage === "asks" ? "/" : "?tab=table"} className={clsx("inline-flex min-h-6 items-center hover:underline", color)} title={names.join(", ")}>
              {names.length === 1 ? `${names[0] ?? ""} ${one}` : `${names.length} ${many}`}
            </Link>
          )
        );
      })}
    </>
  );
}

/** Which run it is: what it started from, when, by whom, and what it cost. */
function Facts({ graph: { run, nodes, critical, seconds } }: { graph: Api<"RunGraph"> }) {
  const time = useClock((now) => {
    const lasts = took(run, now);
    return lasts === undefined ? undefined : duration(run.ended_at === null ? Math.floor(lasts) : lasts);
  });
  const chain = tellingChain(nodes.length, critical);
  return (
    <div className="flex shrink-0 flex-wrap gap-x-4 gap-y-0.5 border-b border-line px-4 py-1 text-muted">
      <span>
        from <span className="font-mono text-code">{run.base_branch === "" ? run.base.slice(0, 10) : run.base_branch}</span>
      </span>
      {run.by !== "" && <span>started by {run.by}</span>}
      {time !== undefined && run.started_at !== null && <span title={`Started ${exact(run.started_at)}`}>{run.ended_at === null ? `runs for ${time}` : `took ${time}`}</span>}
      {run.ended_at !== null && (
        <span>
          ended <Ago at={run.ended_at} /> ago
        </span>
      )}
      {counted(run.used) > 0 && <span>{tokens(counted(run.used))} tokens</span>}
      {chain.length > 0 && (
        <span title={chain.join(" → ")} className="max-md:hidden">
          critical path: {count(chain.length, "node")}, {duration(seconds)}
        </span>
      )}
      <span className="font-mono text-code wrap-anywhere max-md:hidden">{run.id}</span>
      {run.config_changed && <span className="text-warn">The configuration file has changed since: Update run applies it.</span>}
    </div>
  );
}

function Body({ graph }: { graph: Api<"RunGraph"> }) {
  const [params, setParams] = useSearchParams();
  const chosen = params.get("node") ?? undefined;
  const choose = useCallback(
    (name: string | undefined) =>
      setParams(
        (was) => {
          const next = new URLSearchParams(was);
          if (name === undefined || next.get("node") === name) {
            next.delete("node");
          } else {
            next.set("node", name);
          }
          return next;
        },
        { replace: true },
      ),
    [setParams],
  );
  // What is not on a chain that says something is drawn as any other node.
  const chain = tellingChain(graph.nodes.length, graph.critical);
  const nodes = useMemo(() => (chain.length > 0 ? graph.nodes : graph.nodes.map((n) => ({ ...n, critical: false }))), [chain.length, graph.nodes]);
  const node = nodes.find((n) => n.name === chosen);
  if (graph.nodes.length === 0) {
    return <Empty title="The run has no node">Add one to its configuration, and update the run.</Empty>;
  }
  return (
    <div className="relative flex min-h-0 grow">
      <div className={clsx("flex min-h-0 min-w-0 grow flex-col", node && "max-lg:invisible")}>
        <Tabs
          label="Views of the run"
          tabs={[
            {
              id: "graph",
              label: "Graph",
              content: () => (
                <Flow
                  label="Graph of the run"
                  nodes={nodes}
                  critical={chain}
                  selected={chosen}
                  onSelect={choose}
                  working={() => graph.nodes.filter(works).map((n) => n.name)}
                  first={() => matters(graph.nodes)}
                  card={nodeCard}
                  labelOf={labelOf}
                  alike={sameNode}
                />
              ),
            },
            { id: "time", label: "Attempts in time", content: () => <Attempts graph={graph} selected={chosen} choose={choose} /> },
            { id: "table", label: "Table", content: () => <NodeTable run={graph.run.id} nodes={graph.nodes} /> },
          ]}
        />
      </div>
      {node && <NodePanel key={node.name} run={graph.run.id} node={node} past={graph.run.past} onClose={() => choose(undefined)} />}
    </div>
  );
}

/** The nodes that a person looks for first: those that wait for them, else those that failed, else those that work. */
function matters(nodes: readonly Api<"GraphNode">[]): string[] {
  return (["asks", "failed", "works"] as const).map((stage) => nodes.filter((n) => stageOf(n.status) === stage).map((n) => n.name)).find((names) => names.length > 0) ?? [];
}

const labelOf = (n: Api<"GraphNode">) => n.label;

function Attempts({ graph, selected, choose }: { graph: Api<"RunGraph">; selected: string | undefined; choose: (name: string) => void }) {
  const now = useNow();
  const bars = useMemo(() => attemptBars(graph.nodes, now), [graph.nodes, now]);
  if (bars.rows.every((r) => r.bars.length === 0)) {
    return <Empty title="No attempt has begun">Each attempt of a node appears here as a bar.</Empty>;
  }
  return <BarsView label="Attempts of nodes" bars={bars} selected={selected} onSelect={choose} />;
}
