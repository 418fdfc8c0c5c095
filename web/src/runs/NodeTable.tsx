import { useMemo, useState } from "react";
import { Link } from "react-router";

import type { Api } from "@/api/client";
import { reasonOf } from "@/node/words";
import { counted } from "@/runs/figures";
import { sortNodes, type SortBy } from "@/runs/sort";
import { Field, Input, Select } from "@/ui/field";
import { NodeTime } from "@/runs/NodeTime";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { VirtualList } from "@/ui/list";
import { Empty } from "@/ui/states";

/** What stands in each column, and its width. */
const heads = [
  ["Node", "wide-48"],
  ["Status", "wide-44"],
  ["Time", "wide-16"],
  ["Attempts", "wide-24"],
  ["Used", "wide-28"],
  ["Reason", "min-w-0 flex-1"],
] as const;

/** The nodes of a run, line by line. */
export function NodeTable({ run, nodes }: { run: string; nodes: readonly Api<"GraphNode">[] }) {
  const [words, setWords] = useState("");
  const [by, setBy] = useState<SortBy>("order");
  const shown = useMemo(() => sortNodes(nodes, words, by), [nodes, words, by]);
  return (
    <div className="flex h-full min-h-0 grow flex-col">
      <div className="flex shrink-0 flex-wrap items-end gap-2 border-b border-line p-2">
        <div className="wide-44">
          <Field label="Find a node" hidden>
            {(ids) => <Input {...ids} type="search" placeholder="Name or label" value={words} onChange={(e) => setWords(e.target.value)} />}
          </Field>
        </div>
        <div className="wide-44">
          <Field label="Order" hidden>
            {(ids) => (
              <Select
                {...ids}
                value={by}
                onChange={(e) => setBy(e.target.value as SortBy)}
                options={[
                  ["order", "As configured"],
                  ["name", "By name"],
                  ["label", "By label"],
                  ["attempts", "Most attempts first"],
                  ["tokens", "Most tokens first"],
                ]}
              />
            )}
          </Field>
        </div>
        <span role="status" className="self-center text-muted">
          {count(shown.length, "node")}
        </span>
      </div>
      {shown.length === 0 ? (
        <Empty title="No node fits">Look for another name or label.</Empty>
      ) : (
        <div className="flex min-h-0 grow flex-col">
          {/* Each row says the same in words. */}
          <div aria-hidden className="flex shrink-0 gap-x-3 border-b border-line-strong px-3 py-1.5 font-semibold max-lg:hidden">
            {heads.map(([text, wide]) => (
              <span key={text} className={wide}>
                {text}
              </span>
            ))}
          </div>
          <div className="min-h-0 grow">
            <VirtualList
              label="Nodes"
              items={shown}
              keyOf={(n) => n.name}
              estimate={37}
              row={(n) => (
                <div className="flex flex-wrap items-center gap-x-3 gap-y-0.5 border-b border-line px-3 py-1.5">
                  <Link to={`/runs/${run}/nodes/${encodeURIComponent(n.name)}`} className="wide-48 truncate font-medium text-accent hover:underline" title={n.name}>
                    {n.name}
                  </Link>
                  <span className="wide-44">
                    <Label>{n.label}</Label>
                  </span>
                  <span className="wide-16 text-muted"><NodeTime node={n} /></span>
                  <span className="wide-24 text-muted">{count(n.attempts, "attempt")}</span>
                  <span className="wide-28 text-muted">{counted(n.used) > 0 && `${tokens(counted(n.used))} tokens`}</span>
                  <span className="min-w-0 flex-1 truncate text-muted" title={reasonOf(n, n.status.state)}>
                    {reasonOf(n, n.status.state)}
                  </span>
                </div>
              )}
            />
          </div>
        </div>
      )}
    </div>
  );
}
