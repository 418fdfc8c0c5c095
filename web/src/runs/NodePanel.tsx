import { X } from "lucide-react";
import { Link } from "react-router";

import { hooks, type Api } from "@/api/client";
import { AnswerForm } from "@/needs/AnswerForm";
import { counted } from "@/runs/figures";
import { NodeOrders } from "@/runs/NodeOrders";
import { useNodeOrders } from "@/runs/orders";
import { IconButton } from "@/ui/button";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Answer } from "@/ui/states";
import { Ago } from "@/ui/time";

/** The node that is chosen: how it stands, and what can be ordered. */
export function NodePanel({ run, node, past, onClose }: { run: string; node: Api<"GraphNode">; past: boolean; onClose: () => void }) {
  const inspected = hooks.useQuery("get", "/api/runs/{id}/nodes/{node}", { params: { path: { id: run, node: node.name } } });
  const give = useNodeOrders(run, node.name);
  return (
    <aside aria-label={`Node ${node.name}`} className="flex max-h-[50%] w-full shrink-0 flex-col gap-3 overflow-auto border-t border-line bg-surface p-3 lg:max-h-none lg:w-80 lg:border-t-0 lg:border-l">
      <header className="flex items-start gap-2">
        <h2 className="min-w-0 grow text-base font-semibold wrap-anywhere">
          <Link to={`/runs/${run}/nodes/${encodeURIComponent(node.name)}`} className="text-accent hover:underline">
            {node.name}
          </Link>
        </h2>
        <IconButton label="Close the node" onClick={onClose}>
          <X size={16} />
        </IconButton>
      </header>
      <p className="flex flex-wrap items-center gap-2">
        <Label>{node.label}</Label>
        {node.since !== null && <Ago at={node.since} className="text-muted" />}
        {node.critical && <span className="text-muted">on the critical path</span>}
      </p>
      {node.reason !== "" && <p className="whitespace-pre-wrap wrap-anywhere">{node.reason}</p>}
      <p className="text-muted">
        {node.role}
        {node.agent !== "" && `, ${node.agent}`}, {count(node.attempts, "attempt")}, {tokens(counted(node.used))} tokens
        {node.depends_on.length > 0 && `, after ${node.depends_on.join(", ")}`}
      </p>
      <Answer query={inspected}>
        {(in_) => (
          <>
            {in_.question !== undefined && in_.orders.includes("answer") && (
              <AnswerForm of={node.name} question={in_.question} busy={give.answer.isPending} send={give.answer.mutate} />
            )}
            {past ? <p className="text-muted">Its session has a newer run: nothing can be ordered here.</p> : <NodeOrders run={run} node={node.name} orders={in_.orders} />}
            {in_.attempts.length > 0 && (
              <ol aria-label="Attempts" className="flex flex-col gap-1">
                {in_.attempts.map((t) => (
                  <li key={t.n} className="wrap-anywhere">
                    <span className="text-muted">{t.n}.</span> <Label>{t.how === "" ? "running" : t.how}</Label> {t.summary ?? t.detail}
                  </li>
                ))}
              </ol>
            )}
          </>
        )}
      </Answer>
    </aside>
  );
}
