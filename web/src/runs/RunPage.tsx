import { useCallback, useMemo } from "react";
import { useParams, useSearchParams } from "react-router";

import { hooks, type Api } from "@/api/client";
import { attemptBars } from "@/runs/bars";
import { BarsView } from "@/runs/BarsView";
import { counted, duration, took, works } from "@/runs/figures";
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
import { useNow } from "@/ui/time";

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
    >
      <Answer query={graph}>{(g) => <Body graph={g} />}</Answer>
    </Page>
  );
}

function About({ graph: { run, nodes, critical, seconds } }: { graph: Api<"RunGraph"> }) {
  const time = took(run, useNow());
  const done = nodes.filter((n) => n.status.state === "done" || n.status.state === "skipped").length;
  return (
    <>
      <Label>{run.state}</Label>
      <span>
        {done} of {count(nodes.length, "node")} done
      </span>
      {time !== undefined && <span>{duration(time)}</span>}
      {counted(run.used) > 0 && <span>{tokens(counted(run.used))} tokens</span>}
      {critical.length > 1 && (
        <span title={critical.join(" → ")}>
          critical path: {count(critical.length, "node")}, {duration(seconds)}
        </span>
      )}
      {run.config_changed && <span className="text-warn">the configuration has changed</span>}
    </>
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
  const node = graph.nodes.find((n) => n.name === chosen);
  if (graph.nodes.length === 0) {
    return <Empty title="The run has no node">Add one to its configuration, and update the run.</Empty>;
  }
  return (
    <div className="flex min-h-0 grow flex-col lg:flex-row">
      <div className="flex min-h-0 min-w-0 grow flex-col">
        <Tabs
          label="Views of the run"
          tabs={[
            {
              id: "graph",
              label: "Graph",
              content: () => (
                <Flow
                  label="Graph of the run"
                  nodes={graph.nodes}
                  critical={graph.critical}
                  selected={chosen}
                  onSelect={choose}
                  working={() => graph.nodes.filter(works).map((n) => n.name)}
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

const labelOf = (n: Api<"GraphNode">) => n.label;

function Attempts({ graph, selected, choose }: { graph: Api<"RunGraph">; selected: string | undefined; choose: (name: string) => void }) {
  const now = useNow();
  const bars = useMemo(() => attemptBars(graph.nodes, now), [graph.nodes, now]);
  if (bars.rows.every((r) => r.bars.length === 0)) {
    return <Empty title="No attempt has begun">Each attempt of a node appears here as a bar.</Empty>;
  }
  return <BarsView label="Attempts of nodes" bars={bars} selected={selected} onSelect={choose} />;
}
