import { GitMerge } from "lucide-react";
import { Link } from "react-router";

import { api, hooks, type Api } from "@/api/client";
import { Job } from "@/review/Job";
import { Conflicts, LookAgain, Outcome } from "@/review/Merge";
import { Confirm } from "@/ui/dialog";
import { Page, Panel } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";
import { useOrder } from "@/ui/toasts";

/** Brings the work of finished tasks into the integration branch, and shows before what would conflict. */
export default function TasksMergePage() {
  const job = hooks.useQuery("get", "/api/tasks/merge", {}, { refetchInterval: ({ state }) => (state.data?.running === true ? 700 : false) });
  const queue = hooks.useQuery("get", "/api/tasks/merge/queue", {}, { enabled: job.data?.running !== true });
  const give = useOrder((body: Api<"MergeTasks">) => api.POST("/api/tasks/merge", { body }));
  const busy = give.isPending || job.data?.running === true;
  return (
    <Page title="Merge tasks">
      <div className="grid gap-3 p-3 lg:grid-cols-2">
        <Answer query={queue}>
          {(q) => (
            <Panel
              title={`Into ${q.target}`}
              actions={
                <>
                  <LookAgain queue={queue} />
                  <Confirm
                    title={`Merge into ${q.target}?`}
                    text="The tasks are merged in this order, with their checks. What conflicts or fails a check goes back to its worker, and the others are merged."
                    action="Merge"
                    tone="accent"
                    icon={<GitMerge aria-hidden size={16} />}
                    busy={busy}
                    disabled={q.tasks.length === 0}
                    onConfirm={() => give.mutate({}, { onSuccess: () => void job.refetch() })}
                  >
                    Merge
                  </Confirm>
                </>
              }
            >
              <MergedTaskList tasks={q.tasks} done={false} />
            </Panel>
          )}
        </Answer>
        <Panel title="The merge">
          <Answer query={job}>
            {(j) => (j.started_at === undefined ? <p className="text-muted">None was begun from here.</p> : <Job job={j}>{j.result && <MergedTaskList tasks={j.result.tasks} done />}</Job>)}
          </Answer>
        </Panel>
      </div>
    </Page>
  );
}

function MergedTaskList({ tasks, done }: { tasks: readonly Api<"MergedTask">[]; done: boolean }) {
  if (tasks.length === 0) {
    return <Empty title="There is nothing to merge">Tasks that are done appear here.</Empty>;
  }
  return (
    <ol className="flex flex-col gap-2">
      {tasks.map((t) => (
        <li key={t.id}>
          <p className="flex flex-wrap items-center gap-2">
            <strong className="wrap-anywhere">{t.title}</strong>
            <Outcome outcome={t.outcome} done={done} />
            <code className="text-muted wrap-anywhere">{t.branch}</code>
          </p>
          {t.check !== "" && (
            <p className="text-bad wrap-anywhere">
              <code>{t.check}</code>
            </p>
          )}
          <Conflicts files={t.conflict} />
          {t.room !== "" && (
            <p>
              Agents talk about it in the room{" "}
              <Link to={`/rooms/${encodeURIComponent(t.room)}`} className="text-accent underline">
                {t.room}
              </Link>
              .
            </p>
          )}
          {t.notes.map((note) => (
            <p key={note} className="text-warn wrap-anywhere">
              {note}
            </p>
          ))}
          {t.try !== "" && (
            <p className="text-muted">
              Try <code className="wrap-anywhere">{t.try}</code>
            </p>
          )}
        </li>
      ))}
    </ol>
  );
}
