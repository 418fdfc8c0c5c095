import { api, hooks, type Api } from "@/api/client";
import { useRecovery } from "@/health/queries";
import { Row } from "@/health/SystemHealth";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";
import { Label } from "@/ui/label";
import { Panel } from "@/ui/page";
import { Answer } from "@/ui/states";
import { Ago } from "@/ui/time";
import { useOrder } from "@/ui/toasts";

/** While something is under way nothing tells how far it is: it is asked. */
const every = 1000;
const whileRunning = { refetchInterval: (q: { state: { data?: Api<"JobRecovery"> | undefined } }) => (q.state.data?.running === true ? every : false) };

/** The health of the project, what a recovery would do, and the orders for one. */
export function Recover() {
  const recovery = useRecovery();
  const preview = hooks.useQuery("get", "/api/recover/preview", {}, whileRunning);
  const now = hooks.useQuery("get", "/api/recover/now", {}, whileRunning);
  const undo = hooks.useQuery("get", "/api/recover/undo", {}, whileRunning);
  const all = () => Promise.all([recovery.refetch(), preview.refetch(), now.refetch(), undo.refetch()]);
  const look = useOrder(async () => {
    await api.POST("/api/recover/preview");
    await all();
  });
  const begin = useOrder(async () => {
    await api.POST("/api/recover/now");
    await all();
  });
  const back = useOrder(async () => {
    await api.POST("/api/recover/undo");
    await all();
  });
  const running = [preview, now, undo].some((q) => q.data?.running === true);
  return (
    <Answer query={recovery}>
      {(r) => (
        <div className="flex flex-col gap-4 p-4">
          <Panel
            title="Recovery"
            actions={
              <>
                <Button busy={look.isPending || preview.data?.running === true} disabled={running} onClick={() => look.mutate()}>
                  Dry run
                </Button>
                <Confirm
                  title="Begin a recovery now?"
                  text="cmux restarts what health.restart names. If the project is still not healthy, it looks for the last healthy commit on a branch of its own, cmux/rollback-DATE. Nothing is moved, nothing is lost."
                  action="Recover now"
                  disabled={running}
                  busy={begin.isPending || now.data?.running === true}
                  onConfirm={() => begin.mutate()}
                >
                  Recover now
                </Confirm>
                <Confirm
                  title="Undo the newest rollback?"
                  text="The health tree is brought back to where the rollback found it. The rollback's branch is kept."
                  action="Undo"
                  disabled={running}
                  busy={back.isPending || undo.data?.running === true}
                  onConfirm={() => back.mutate()}
                >
                  Undo
                </Confirm>
              </>
            }
          >
            <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
              <Row label="Health command">{r.command === "" ? "none: set health.command in the configuration" : <code>{r.command}</code>}</Row>
              <Row label="Tree">{r.tree === "" ? "none" : r.tree}</Row>
              <Row label="Last check">{r.checked_at === null ? "not yet" : <><Ago at={r.checked_at} /> ago, {r.fails === 0 ? "healthy" : `failed ${r.fails} times in a row`}</>}</Row>
              <Row label="Last healthy commit">{r.healthy === "" ? "none" : <code>{r.healthy}</code>}</Row>
            </dl>
          </Panel>
          {r.recovery && <Run run={r.recovery} />}
          <Job title="Dry run" job={preview.data} />
          <Job title="Recovery that was begun here" job={now.data} />
          <Job title="Undo" job={undo.data} />
        </div>
      )}
    </Answer>
  );
}

function Run({ run: r }: { run: Api<"RecoveryRun"> }) {
  return (
    <Panel title={`Recovery ${r.id}`} actions={<Label tone={r.end === undefined || r.end === "" ? "info" : "muted"}>{r.end === undefined || r.end === "" ? (r.step ?? "under way") : r.end}</Label>}>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        <Row label="Began">
          <Ago at={r.began_at} /> ago, by {r.by}
        </Row>
        {r.branch !== undefined && <Row label="Branch">{r.branch}</Row>}
        {r.detail !== undefined && <Row label="Why">{r.detail}</Row>}
        {r.blamed !== undefined && <Row label="First bad commit">{r.blamed}</Row>}
      </dl>
      {(r.tries ?? []).length > 0 && (
        <ul className="mt-2 flex flex-col gap-1">
          {r.tries?.map((t, i) => (
            <li key={i} className="flex flex-wrap gap-2">
              <Label tone={t.ok ? "ok" : "bad"}>{t.ok ? "healthy" : "not healthy"}</Label>
              <code>{t.commit.slice(0, 12)}</code>
              <span className="min-w-0 wrap-anywhere">{t.detail}</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Job({ title, job }: { title: string; job: Api<"JobRecovery"> | undefined }) {
  if (!job || (job.started_at === undefined && !job.running)) {
    return null;
  }
  const plan = job.result?.plan;
  return (
    <Panel title={title} actions={<Label tone={job.running ? "info" : job.failed === undefined ? "ok" : "bad"}>{job.running ? "running" : job.failed === undefined ? "done" : "failed"}</Label>}>
      {job.doing !== undefined && job.doing !== "" && <p>{job.doing}</p>}
      {job.failed !== undefined && (
        <p className="text-bad wrap-anywhere">
          {job.failed} {job.try !== undefined && <code>{job.try}</code>}
        </p>
      )}
      {plan && (
        <p className="wrap-anywhere">
          {plan.healthy ? "The project is healthy: a recovery would do nothing." : plan.refused !== "" ? plan.refused : `A recovery would ${plan.restart === "" ? "restart nothing" : `restart with ${plan.restart}`}, then look at ${plan.range.length} commits and ${plan.older.length} older ones.`}
        </p>
      )}
      {job.output !== "" && (
        <pre tabIndex={0} className="mt-2 max-h-80 overflow-auto rounded bg-sunken p-2 whitespace-pre-wrap wrap-anywhere">
          {job.output}
        </pre>
      )}
    </Panel>
  );
}
