import { X } from "lucide-react";
import { useEffect, useRef } from "react";
import { Link } from "react-router";

import { hooks, type Api } from "@/api/client";
import { Now, nodePath } from "@/node/Now";
import { nodeKind, ordersFirst, stageOf, whereOf } from "@/node/words";
import { counted } from "@/runs/figures";
import { NodeTime } from "@/runs/NodeTime";
import { NodeOrders } from "@/runs/NodeOrders";
import { useNodeOrders } from "@/runs/orders";
import { IconButton } from "@/ui/button";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Answer } from "@/ui/states";
import { useSteady } from "@/ui/useSteady";

/** The chosen node: what matters of it now, what can be done about it, and its attempts. */
export function NodePanel({ run, node, past, onClose }: { run: string; node: Api<"GraphNode">; past: boolean; onClose: () => void }) {
  const inspected = hooks.useQuery("get", "/api/runs/{id}/nodes/{node}", { params: { path: { id: run, node: node.name } } });
  const stage = stageOf(node.status);
  const first = ordersFirst(node.role, stage);
  const give = useNodeOrders(run, node.name);
  const approves = !past && inspected.data?.orders.includes("approve") === true;
  const settled = useSteady(`${run} ${node.name} ${String(approves)}`); // a key that was meant for the node before decides nothing
  const press = useRef<(e: KeyboardEvent) => void>(undefined);
  useEffect(() => {
    press.current = (e) => {
      const at = e.target instanceof Element ? e.target : null;
      if (e.defaultPrevented || e.repeat || e.ctrlKey || e.metaKey || e.altKey || document.querySelector("[role=dialog]") !== null || at?.closest("input, textarea, select, [contenteditable=true], [role=menu]") != null) {
        return;
      }
      if (e.key === "Escape") {
        onClose();
      } else if (e.key === "a" && approves && settled && !give.approve.isPending) {
        give.approve.mutate();
      }
    };
  });
  useEffect(() => {
    const listen = (e: KeyboardEvent) => press.current?.(e);
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
  return (
    <aside aria-label={`Node ${node.name}`} className="absolute inset-0 z-10 flex flex-col gap-3 overflow-auto bg-surface p-3 lg:static lg:wide-96 lg:shrink-0 lg:border-l lg:border-line">
      <header className="flex items-start gap-2">
        <h2 className="min-w-0 grow text-base font-semibold wrap-anywhere">
          <Link to={nodePath(run, node.name)} className="text-accent hover:underline">
            {node.name}
          </Link>
        </h2>
        <IconButton label="Close the node" onClick={onClose}>
          <X size={16} />
        </IconButton>
      </header>
      <p className="flex flex-wrap items-center gap-2">
        <Label>{node.label}</Label>
        <NodeTime node={node} className="text-muted" />
        <Link to={nodePath(run, node.name)} className="ml-auto text-accent underline">
          Open node
        </Link>
      </p>
      <Answer query={inspected}>
        {(found) => {
          const orders = past ? <p className="text-muted">The session has a newer run: this run takes no commands.</p> : <NodeOrders run={run} node={node.name} orders={found.orders} failed={stage === "failed"} gate={node.role === "gate"} />;
          return (
            <>
              {first && orders}
              <Now run={run} node={found} brief />
              {!first && orders}
              {found.attempts.length > 0 && (
                <section aria-label="Attempts" className="flex flex-col gap-1">
                  <h3 className="font-semibold">{count(found.attempts.length, "attempt")}</h3>
                  <ol aria-label="Attempts" className="flex flex-col gap-1">
                    {found.attempts.map((t) => (
                      <li key={t.n} className="wrap-anywhere">
                        <span className="text-muted">{t.n}.</span> <Label>{t.how === "" ? "running" : t.how}</Label> {stage === "failed" || stage === "done" ? "" : (t.summary ?? t.detail)}
                      </li>
                    ))}
                  </ol>
                </section>
              )}
            </>
          );
        }}
      </Answer>
      <p className="text-muted wrap-anywhere">
        {nodeKind(node)}
        {whereOf(node, node.attempts) !== "" && `, ${node.machine === undefined ? "" : "on "}${whereOf(node, node.attempts)}`}
        {counted(node.used) > 0 && `, ${tokens(counted(node.used))} tokens`}
        {node.depends_on.length > 0 && `, after ${node.depends_on.join(", ")}`}
        {node.critical && ", on the critical path"}
      </p>
    </aside>
  );
}
