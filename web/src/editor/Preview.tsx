import { keepPreviousData } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { hooks, type Api } from "@/api/client";
import { FaultList } from "@/editor/FaultList";
import { scheduleBars } from "@/runs/bars";
import { BarsView } from "@/runs/BarsView";
import { duration } from "@/runs/figures";
import { Flow } from "@/runs/graph/Flow";
import { plannedCard } from "@/runs/NodeCard";
import { count } from "@/ui/figures";
import { Answer } from "@/ui/states";
import { Tabs } from "@/ui/tabs";

interface PreviewProps {
  check: Api<"GraphCheck">;
  text: string; // that was checked
  goTo: (line: number, column: number) => void;
}

/** What a text makes: its graph, waves and schedule; or what is wrong with it. The last sound graph stays. */
export function Preview({ check, text, goTo }: PreviewProps) {
  const sound = check.faults.length === 0;
  const [last, setLast] = useState(check);
  if (sound && last !== check) {
    setLast(check);
  }
  const nodes = useMemo(() => last.nodes.map((n) => ({ ...n, critical: false })), [last]);
  return (
    <>
      <FaultList faults={check.faults} warnings={check.warnings} fine={`Nothing is wrong: ${count(check.nodes.length, "node")}`} goTo={goTo} />
      <Tabs
        label="What the text makes"
        tabs={[
          { id: "graph", label: "Graph", badge: nodes.length, content: () => <Flow label="Graph of the configuration" nodes={nodes} critical={noChain} card={plannedCard} /> },
          { id: "waves", label: "Waves", badge: last.waves.length, content: () => <Waves waves={last.waves} /> },
          { id: "schedule", label: "Schedule", content: () => (sound ? <Schedule text={text} /> : <p className="p-4 text-muted">The schedule appears when nothing is wrong.</p>) },
        ]}
      />
    </>
  );
}

const noChain: readonly string[] = [];

function Waves({ waves }: { waves: readonly Api<"Wave">[] }) {
  return (
    <ol aria-label="Waves" className="flex flex-col gap-2 p-3">
      {waves.map((w, i) => (
        <li key={i} className="rounded-md border border-line bg-surface p-2 wrap-anywhere">
          <span className="text-muted">{i + 1}. </span>
          {w.start.length > 0 && <>start {w.start.join(", ")}</>}
          {w.approve.length > 0 && <span className="text-warn"> you approve {w.approve.join(", ")}</span>}
          {w.blocked.length > 0 && <span className="text-bad"> blocked: {w.blocked.join(", ")}</span>}
        </li>
      ))}
    </ol>
  );
}

function Schedule({ text }: { text: string }) {
  const unfolded = hooks.useQuery("post", "/api/graph/unfold", { body: { text } }, { placeholderData: keepPreviousData, gcTime: 10_000 });
  return (
    <Answer query={unfolded}>
      {(u) => (
        <>
          <p className="px-3 py-1.5">
            {duration(u.seconds)} if every node succeeds, {count(u.max_parallel, "agent")} at a time. Longest chain: {u.critical.join(", ")}.
          </p>
          <BarsView label="Schedule of nodes" bars={scheduleBars(u)} />
        </>
      )}
    </Answer>
  );
}
