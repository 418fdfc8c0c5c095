import { GitMerge, RefreshCw } from "lucide-react";

import { api, hooks, type Api } from "@/api/client";
import { useWaiting } from "@/needs/needs";
import { visible } from "@/changes/visible";
import { Job } from "@/review/Job";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";
import { count } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Panel } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";
import { useOrder } from "@/ui/toasts";

const every = 700; // ms, while a merge runs

/** What a merge of a run would take, in order, what would conflict, and the merge itself. */
export function Merge({ run }: { run: string }) {
  const params = { params: { path: { id: run } } };
  const job = hooks.useQuery("get", "/api/runs/{id}/merge", params, { refetchInterval: ({ state }) => (state.data?.running === true ? every : false) });
  const queue = hooks.useQuery("get", "/api/runs/{id}/merge/queue", params, { enabled: job.data?.running !== true });
  const give = useOrder((body: Api<"Merge">) => api.POST("/api/runs/{id}/merge", { ...params, body }));
  const begin = (body: Api<"Merge">) =>
    give.mutate(body, {
      onSuccess: () => {
        void job.refetch();
      },
    });
  const open = new Set(useWaiting()?.items.flatMap((n) => (n.kind === "review" && n.run === run ? [n.name] : [])));
  const busy = give.isPending || job.data?.running === true;
  return (
    <div className="grid gap-3 p-3 lg:grid-cols-2">
      <Answer query={queue}>
        {(q) => (
          <Panel
            title={`Into ${q.target}`}
            actions={
              <>
                <LookAgain queue={queue} />
                {q.begun ? (
                  <>
                    <Button tone="accent" busy={busy} onClick={() => begin({ continue: true })}>
                      Continue
                    </Button>
                    <Confirm title="Give the merge up?" text="What it merged so far is taken back; the branches stay as they are." action="Abort the merge" tone="bad" busy={busy} onConfirm={() => begin({ abort: true })}>
                      Abort
                    </Confirm>
                  </>
                ) : (
                  <Confirm
                    title={`Merge into ${q.target}?`}
                    text={`${mergeable(q.branches)}, with the checks after each. Where one fails or conflicts, the merge stops there and ${q.target} stays as it is.`}
                    action="Merge"
                    tone="accent"
                    icon={<GitMerge aria-hidden size={16} />}
                    busy={busy}
                    disabled={!q.branches.some((b) => b.outcome === "merged")}
                    onConfirm={() => begin({})}
                  >
                    Merge
                  </Confirm>
                )}
              </>
            }
          >
            <Unseen nodes={q.begun ? [] : q.branches.filter((b) => b.outcome === "merged" && open.has(b.node)).map((b) => b.node)} />
            {q.branches.length === 0 ? (
              <Empty title="There is nothing to merge">Branches of nodes that are done appear here.</Empty>
            ) : (
              <ol className="flex flex-col gap-2">
                {q.branches.map((b, i) => (
                  <li key={b.node} className="flex gap-2">
                    <span className="w-6 shrink-0 text-right text-muted tabular-nums">{i + 1}</span>
                    <div className="min-w-0 grow">
                      <p className="flex flex-wrap items-center gap-2">
                        <strong className="wrap-anywhere">{b.node}</strong>
                        <Outcome outcome={b.outcome} />
                        <code className="text-muted wrap-anywhere">{`${b.branch} ${b.commit.slice(0, 10)}`}</code>
                      </p>
                      {b.why !== "" && <p className={`${b.outcome === "left out" ? "text-muted" : "text-warn"} wrap-anywhere`}>{b.why}</p>}
                      {b.moved !== "" && <p className="text-warn wrap-anywhere">{`Its branch has moved on to ${b.moved.slice(0, 10)}, which is not merged.`}</p>}
                      <Conflicts files={b.conflict} />
                    </div>
                  </li>
                ))}
              </ol>
            )}
          </Panel>
        )}
      </Answer>
      <Panel title="The merge">
        <Answer query={job}>
          {(j) =>
            j.started_at === undefined ? (
              <p className="text-muted">No merge was begun here yet.</p>
            ) : (
              <Job job={j}>
                {j.result && (
                  <p className="wrap-anywhere">
                    {j.result.abandoned === true ? `The merge into ${j.result.target} was given up.` : `Into ${j.result.target}: ${j.result.merged.join(", ") || "nothing new"}${j.result.commit === undefined ? "" : ` at ${j.result.commit.slice(0, 10)}`}.`}
                  </p>
                )}
              </Job>
            )
          }
        </Answer>
      </Panel>
    </div>
  );
}

/** Says of which nodes a merge takes in work that nobody has reviewed. */
function Unseen({ nodes }: { nodes: readonly string[] }) {
  return nodes.length > 0 && <p className="mb-2 text-warn wrap-anywhere">{`Not reviewed, and merged as it is: the work of ${nodes.join(", ")}.`}</p>;
}

/** Has git look again: somebody else may have moved the branch that is merged into. */
export function LookAgain({ queue }: { queue: { isFetching: boolean; refetch: () => unknown } }) {
  return (
    <Button icon={<RefreshCw aria-hidden size={15} />} busy={queue.isFetching} onClick={() => queue.refetch()}>
      Look again
    </Button>
  );
}

function mergeable(branches: readonly Api<"QueuedBranch">[]): string {
  const n = branches.filter((b) => b.outcome === "merged").length;
  return `${count(n, "branch is", "branches are")} merged in this order`;
}

const words = {
  merged: ["would be merged", "ok"],
  contained: ["adds nothing", "muted"],
  nothing: ["nothing to merge", "muted"],
  conflict: ["conflict", "bad"],
  "left out": ["left out", "warn"],
  check: ["a check fails", "bad"],
  waits: ["waits", "muted"],
  gone: ["branch is gone", "bad"],
} as const;

export function Outcome({ outcome, done = false }: { outcome: keyof typeof words; done?: boolean }) {
  const [text, tone] = words[outcome];
  return <Label tone={tone}>{done && outcome === "merged" ? "merged" : text}</Label>;
}

export function Conflicts({ files }: { files: readonly string[] }) {
  if (files.length === 0) {
    return null;
  }
  return (
    <ul aria-label="Files in conflict" className="text-bad">
      {files.map((f) => (
        <li key={f} className="font-mono text-code wrap-anywhere">
          {visible(f)}
        </li>
      ))}
    </ul>
  );
}
