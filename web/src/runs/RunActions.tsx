import { Check, Pencil, Play, RotateCcw, Square } from "lucide-react";
import { Link } from "react-router";

import { api, type Api } from "@/api/client";
import { each } from "@/runs/each";
import { hasFailed } from "@/runs/figures";
import { useNodeOrders } from "@/runs/orders";
import { StartButton } from "@/runs/StartDialog";
import { UpdateButton } from "@/runs/UpdateDialog";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";
import { count } from "@/ui/figures";
import { useOrder } from "@/ui/toasts";

/** Approves the gate of a run that waits alone. */
function Approve({ run, gate }: { run: string; gate: string }) {
  const give = useNodeOrders(run, gate);
  return (
    <Button tone="accent" icon={<Check aria-hidden size={15} />} busy={give.approve.isPending} onClick={() => give.approve.mutate()}>
      Approve {gate}
    </Button>
  );
}

/** What can be ordered of a run. */
export function RunActions({ graph: { run, nodes } }: { graph: Api<"RunGraph"> }) {
  const params = { params: { path: { id: run.id } } };
  const stop = useOrder(() => api.POST("/api/runs/{id}/stop", params), "The run is stopped. It can be resumed.");
  const resume = useOrder(() => api.POST("/api/runs/{id}/resume", params), "The run is resumed.");
  const failed = nodes.filter(hasFailed).map((n) => n.name);
  const retry = useOrder(
    // One after the other: each may bring others back with it, which then need no retry.
    () => each(failed, (node) => api.POST("/api/runs/{id}/nodes/{node}/retry", { params: { path: { id: run.id, node } }, body: {} })),
    ({ done, refused }) => [`${count(done.length, "node runs", "nodes run")} again.`, ...refused.map(({ name, why }) => `Not ${name}: ${why}`)].join(" "),
  );
  const resumes = run.state === "stopped" || run.state === "no runner";
  const asks = nodes.filter((n) => n.status.state === "needs input");
  const gate = asks.length === 1 && asks[0]?.role === "gate" ? asks[0].name : undefined;
  const over = run.state === "done" || run.state === "failed";
  if (run.past) {
    return <span className="text-muted">Its session has a newer run.</span>;
  }
  return (
    <>
      {gate !== undefined && <Approve key={gate} run={run.id} gate={gate} />}
      {failed.length > 0 && (
        <Button tone={resumes || gate !== undefined ? "plain" : "accent"} icon={<RotateCcw aria-hidden size={15} />} busy={retry.isPending} onClick={() => retry.mutate()}>
          Retry failed
        </Button>
      )}
      {resumes && (
        <Button tone="accent" icon={<Play aria-hidden size={15} />} busy={resume.isPending} onClick={() => resume.mutate()}>
          Resume
        </Button>
      )}
      <Link to="/config/agents" className="inline-flex min-h-8 items-center gap-1.5 rounded-md border border-line-strong bg-surface px-2.5 py-1 font-medium hover:bg-sunken">
        <Pencil aria-hidden size={15} /> <span className="max-md:sr-only">Edit</span>
      </Link>
      <UpdateButton run={run.id} accent={run.config_changed} />
      {!over && run.runner && (
        <Confirm
          title="Stop the run?"
          text="Its agents are ended, and their work is kept. The run can be resumed."
          action="Stop the run"
          tone="bad"
          icon={<Square aria-hidden size={15} />}
          busy={stop.isPending}
          onConfirm={() => stop.mutate()}
        >
          <span className="max-md:sr-only">Stop</span>
        </Confirm>
      )}
      {over && <StartButton />}
    </>
  );
}
