import { useState } from "react";
import { Link, useParams } from "react-router";

import { hooks, type Api } from "@/api/client";
import { tookText } from "@/node/words";
import { Changes } from "@/changes/Changes";
import { fits, nextOf, otherChecks, type Task } from "@/tasks/board";
import { give } from "@/tasks/give";
import { OrderDialog } from "@/tasks/OrderDialog";
import { OtherChecks } from "@/tasks/OtherChecks";
import { TaskMenu } from "@/tasks/TaskMenu";
import { TaskLog } from "@/tasks/TaskLog";
import { Button } from "@/ui/button";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Markdown } from "@/ui/markdown";
import { Page, Panel } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";
import { Tabs } from "@/ui/tabs";
import { Ago } from "@/ui/time";
import { useOrder } from "@/ui/toasts";

/** All that is known of a task. */
export default function TaskPage() {
  const { id = "" } = useParams();
  const task = hooks.useQuery("get", "/api/tasks/{id}", { params: { path: { id } } });
  const t = task.data;
  return (
    <Page
      title={t ? `${t.id} ${t.title}` : id}
      about={t && <Label className="whitespace-normal">{t.label}</Label>}
      actions={
        t && (
          <>
            <Next task={t} />
            <TaskMenu task={t} labeled />
          </>
        )
      }
      ready={!task.isPending}
    >
      <Answer query={task}>
        {(found) => (
          <Tabs
            label={`What is known of ${id}`}
            tabs={[
              { id: "about", label: "About", content: () => <About task={found} /> },
              { id: "attempts", label: "Attempts", badge: found.attempts.length, content: () => <Attempts task={found} /> },
              ...(found.attempts.length === 0 ? [] : [{ id: "changes", label: "Changes", content: () => <Changes source={{ kind: "task", id }} /> }]),
              { id: "log", label: "Log", content: () => <TaskLog id={id} /> },
            ]}
          />
        )}
      </Answer>
    </Page>
  );
}

/** What a task waits for from a person, first: that somebody begins it, that it gets the checks of now, or that its work is merged. */
function Next({ task: t }: { task: Task }) {
  const [assigning, assign] = useState(false);
  const next = nextOf(t);
  const again = useOrder(give.again, `${t.id} begins again.`);
  if (next === "merge") {
    return (
      <>
        <span>not merged</span>
        <Link to="/tasks/merge" className="inline-flex min-h-8 items-center rounded-md border border-accent bg-accent px-2.5 py-1 font-medium text-on-accent hover:opacity-90">
          Preview the merge
        </Link>
      </>
    );
  }
  if (otherChecks(t) && fits("pause", t)) {
    return (
      <Button busy={again.isPending} title="The task's next attempt begins, with the work so far and the project's checks as they are now." onClick={() => again.mutate({ id: t.id, agent: t.assigned_to })}>
        Assign again
      </Button>
    );
  }
  return (
    next === "assign" && (
      <>
        <span className="text-muted">Nobody works on it</span>
        <Button tone="accent" onClick={() => assign(true)}>
          Assign task
        </Button>
        {assigning && <OrderDialog task={t} order="assign" onClose={() => assign(false)} />}
      </>
    )
  );
}

/** The checks that hold for each task. */
function ProjectCheck() {
  const verify = hooks.useQuery("get", "/api/config", {}, { staleTime: 2000 }).data?.in_force.find((s) => s.key === "verify")?.value ?? "";
  return verify === "" ? (
    <p className="text-muted">It has none, and the project has none.</p>
  ) : (
    <p>
      The project's: <code className="whitespace-pre-wrap wrap-anywhere">{verify}</code>
    </p>
  );
}

function About({ task: t }: { task: Task }) {
  const link = (id: string) => (
    <Link key={id} to={`/tasks/${encodeURIComponent(id)}`} className="mr-2 text-accent underline">
      {id}
    </Link>
  );
  const rows: readonly (readonly [string, React.ReactNode])[] = [
    ["Priority", t.priority],
    ["Kind", t.kind === "answer" && "answer: a report, no change"],
    ["Agent", t.assigned_to !== "" && <Link to={`/agents/${encodeURIComponent(t.assigned_to)}`} className="text-accent underline">{t.assigned_to}</Link>],
    ["Reason", t.reason],
    ["Branch", t.work_branch],
    ["Start", t.start && `with the work of ${t.start.tasks.join(", ")}, at ${t.start.commit.slice(0, 12)}`],
    ["Project", t.project],
    ["Scope", t.scope.join(", ")],
    ["After", t.after.length > 0 && t.after.map(link)],
    ["Parent", t.parent !== "" && link(t.parent)],
    ["Card of", t.card !== undefined && <Link to={`/rooms/${encodeURIComponent(t.card.room)}?card=${encodeURIComponent(t.id)}`} className="text-accent underline">{t.card.room}</Link>],
    ["Part of", t.part_of !== "" && link(t.part_of)],
    ["Merged", t.merged && (t.merged.commit !== "" ? t.merged.commit : t.merged.conflict.length > 0 ? `conflict in ${t.merged.conflict.join(", ")}` : t.merged.check)],
    ["Added", <span key="added">{t.created_by}, <Ago at={t.created_at} /> ago</span>],
    ["Changed", <span key="changed">{t.changed_by}, <Ago at={t.changed_at} /> ago</span>],
  ];
  return (
    <div className="flex flex-col gap-4 p-4">
      {t.body !== "" && (
        <Panel title="Description">
          <Markdown>{t.body}</Markdown>
        </Panel>
      )}
      <Panel title="About">
        <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
          {rows
            .filter(([, value]) => value !== "" && value !== false && value !== null)
            .map(([label, value]) => (
              <div key={label} className="contents">
                <dt className="text-muted">{label}</dt>
                <dd className="min-w-0 wrap-anywhere">{value}</dd>
              </div>
            ))}
        </dl>
      </Panel>
      {t.result && (
        <Panel title="Result">
          <Markdown>{t.result.summary}</Markdown>
          <p className="text-muted">
            {[count(t.result.commits, "commit"), `${tokens(t.result.tokens)} tokens`, t.result.diffstat].filter((x) => x !== "").join(", ")}
          </p>
        </Panel>
      )}
      <Panel title="Checks">
        {t.result !== null && t.result.checks.length > 0 ? (
          <Checks checks={t.result.checks} />
        ) : t.verify.length === 0 ? (
          <ProjectCheck />
        ) : (
          <ul>
            {t.verify.map((v) => (
              <li key={v}>
                <code className="wrap-anywhere">{v}</code>
              </li>
            ))}
          </ul>
        )}
        <OtherChecks task={t} />
      </Panel>
    </div>
  );
}

/** Checks with what they printed last. */
export function Checks({ checks }: { checks: readonly Api<"RunCheck">[] }) {
  return (
    <ul className="flex flex-col gap-2">
      {checks.map((c, i) => (
        <li key={i}>
          <p className="flex flex-wrap items-center gap-2">
            <Label tone={c.exit === 0 && c.timed_out !== true ? "ok" : "bad"}>{c.timed_out === true ? "timed out" : c.exit === 0 ? "passed" : `exit ${c.exit}`}</Label>
            <code className="wrap-anywhere">{c.command}</code>
            <span className="text-muted">{tookText(c.took)}</span>
          </p>
          {c.output !== undefined && c.output !== "" && (
            <pre tabIndex={0} className="mt-1 max-h-72 overflow-auto rounded bg-sunken p-2 whitespace-pre-wrap wrap-anywhere">
              {c.output}
            </pre>
          )}
        </li>
      ))}
    </ul>
  );
}

function Attempts({ task }: { task: Task }) {
  if (task.attempts.length === 0) {
    return <Empty title="Nobody has begun it yet" />;
  }
  return (
    <ol className="flex flex-col gap-3 p-4">
      {task.attempts.map((a) => (
        <li key={a.n}>
          <Panel title={`Attempt ${a.n} of ${a.agent}`} actions={a.end ? <Label>{[a.end.outcome, a.end.reason].filter((x) => x !== undefined && x !== "").join(": ") || "ended"}</Label> : <Label tone="info">at work</Label>}>
            <p className="text-muted">
              Began <Ago at={a.began_at} /> ago{a.ended_at !== null && <>, ended <Ago at={a.ended_at} /> ago</>}
            </p>
            {a.end?.detail !== undefined && a.end.detail !== "" && <p className="wrap-anywhere">{a.end.detail}</p>}
            {a.end?.summary !== undefined && a.end.summary !== "" && <Markdown>{a.end.summary}</Markdown>}
            {a.end?.checks && <Checks checks={a.end.checks} />}
          </Panel>
        </li>
      ))}
    </ol>
  );
}
