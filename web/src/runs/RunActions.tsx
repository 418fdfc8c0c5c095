import { Check, GitMerge, GitPullRequest, Pencil, Play, RotateCcw, Square } from "lucide-react";
import { api, hooks, type Api } from "@/api/client";
import { useWaiting } from "@/needs/needs";
import { each } from "@/runs/each";
import { hasFailed } from "@/runs/figures";
import { useNodeOrders } from "@/runs/orders";
import { StartButton } from "@/runs/StartDialog";
import { UpdateButton } from "@/runs/UpdateDialog";
import { Button } from "@/ui/button";
import { LinkButton } from "@/ui/LinkButton";
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

/** What is left to do with the work of a run that is over: to review it, then to merge it. */
function Result({ run, branch, plain }: { run: string; branch: boolean; plain: boolean }) {
  const open = useWaiting()?.items.filter((n) => n.kind === "review" && n.run === run).length;
  const queue = hooks.useQuery("get", "/api/runs/{id}/merge/queue", { params: { path: { id: run } } }, { enabled: open === 0 && branch, retry: false });
  const place = `/runs/${encodeURIComponent(run)}/review`;
  const tone = plain ? "plain" : "accent";
  if (open !== undefined && open > 0) {
    return (
      <LinkButton tone={tone} icon={<GitPullRequest aria-hidden size={15} />} to={place}>
        Review {count(open, "node")}
      </LinkButton>
    );
  }
  const { branches = [], target = "" } = queue.data ?? {};
  if (branches.some((b) => b.outcome === "merged")) {
    return (
      <LinkButton tone={tone} icon={<GitMerge aria-hidden size={15} />} to={`${place}?tab=merge`}>
        Merge into {target}
      </LinkButton>
    );
  }
  return branches.some((b) => b.outcome === "contained") && <span className="text-muted">merged into {target}</span>;
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
      <LinkButton icon={<Pencil aria-hidden size={15} />} to="/config/agents">
        <span className="max-md:sr-only">Edit</span>
      </LinkButton>
      {run.config_changed && <UpdateButton run={run.id} accent />}
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
      {over && <Result run={run.id} branch={run.base_branch !== ""} plain={failed.length > 0} />}
      {over && <StartButton accent={false}>Start again</StartButton>}
    </>
  );
}
