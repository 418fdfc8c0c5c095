import { useEffect, useRef, useState, type ReactNode } from "react";
import { useSearchParams } from "react-router";

import { api, hooks, type Api } from "@/api/client";
import { FirstCommit } from "@/onboarding/FirstCommit";
import { Missing } from "@/onboarding/Missing";
import { demo, example, reviewed, sketch, templates, type Sketch } from "@/onboarding/tasks";
import { Ways } from "@/onboarding/Welcome";
import { Button } from "@/ui/button";
import { Field, Input, Select, Textarea } from "@/ui/field";
import { count } from "@/ui/figures";
import { Answer, Loading } from "@/ui/states";
import { useOrder } from "@/ui/toasts";

interface BeginProps {
  onText: (text: string) => void; // what was drafted; nothing is saved
}

/** The ways to a first graph: from tasks in words, a template, open issues, the demo, or by hand. */
export function Begin({ onText }: BeginProps) {
  const [params, setParams] = useSearchParams();
  const start = hooks.useQuery("get", "/api/graph/start");
  return (
    <Answer query={start}>
      {(s) => (
        <div className="mx-auto flex w-full max-w-3xl flex-col gap-4 p-4">
          <FirstCommit />
          <Missing />
          {way(params.get("begin"), { start: s, onText }) ?? (
            <>
              <p className="text-muted">
                <code>{s.file}</code> is not written yet. Choose how to begin; you see the graph before anything is saved or started.
              </p>
              <Ways />
            </>
          )}
          {params.has("begin") && (
            <div>
              <Button onClick={() => setParams({})}>Choose another way</Button>
            </div>
          )}
        </div>
      )}
    </Answer>
  );
}

interface WayProps extends BeginProps {
  start: Api<"GraphStart">;
}

function way(name: string | null, props: WayProps): ReactNode {
  switch (name) {
    case "tasks":
      return <FromTasks {...props} />;
    case "template":
      return <FromTemplate {...props} />;
    case "issues":
      return <FromIssues {...props} />;
    case "hand":
      return <ByHand {...props} />;
    case "demo":
      return <Draw {...props} title="The demo" nodes={demo} kind="command" verify="" />;
    default:
      return undefined;
  }
}

/** The editor, with an example in it. */
function ByHand({ start, onText }: WayProps) {
  const once = useRef(false);
  useEffect(() => {
    if (!once.current) {
      once.current = true;
      onText(example(start.session, start.kinds[0]));
    }
  }, [onText, start]);
  return <Loading />;
}

function FromTasks(props: WayProps) {
  const [text, setText] = useState("");
  const [review, setReview] = useState(true);
  const nodes = sketch(text);
  return (
    <Choices
      {...props}
      title="Say what should be done"
      nodes={review ? reviewed(nodes) : nodes}
      more={
        <label className="flex min-h-8 items-center gap-2">
          <input type="checkbox" className="size-4" checked={review} onChange={(e) => setReview(e.target.checked)} />
          Another agent reviews the work
        </label>
      }
    >
      <Field label="Tasks" hint="A sentence, or a task in each line. What comes after “then” starts when everything before it is done.">
        {(ids) => <Textarea {...ids} rows={5} placeholder="Fix the login and add a search box, then write the docs" value={text} onChange={(e) => setText(e.target.value)} />}
      </Field>
    </Choices>
  );
}

function FromTemplate(props: WayProps) {
  const [task, setTask] = useState("");
  const [id, choose] = useState(templates[0]?.id ?? "");
  const template = templates.find((t) => t.id === id);
  return (
    <Choices {...props} title="Use a template" nodes={task.trim() === "" ? [] : (template?.nodes(task.trim()) ?? [])}>
      <Field label="Task" hint="What should be done, and what must be true when it is.">
        {(ids) => <Textarea {...ids} value={task} onChange={(e) => setTask(e.target.value)} />}
      </Field>
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1 font-medium">Template</legend>
        {templates.map((t) => (
          <label key={t.id} className="flex items-start gap-2">
            <input type="radio" name="template" className="mt-1 size-4" checked={t.id === id} onChange={() => choose(t.id)} />
            <span>
              {t.title} <span className="block text-muted">{t.about}</span>
            </span>
          </label>
        ))}
      </fieldset>
    </Choices>
  );
}

function FromIssues(props: WayProps) {
  const issues = hooks.useQuery("get", "/api/graph/issues", {}, { retry: false });
  const [chosen, setChosen] = useState<readonly number[]>([]);
  const [words, setWords] = useState("");
  const all = issues.data?.items ?? [];
  const nodes = all.filter((i) => chosen.includes(i.number)).map((i): Sketch => ({ name: i.name, task: i.task, after: [] }));
  return (
    <Choices {...props} title="Take open issues" nodes={nodes}>
      <Answer query={issues}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="text-muted">The repository has no open issue.</p>
          ) : (
            <>
              <Field label="Find an issue">{(ids) => <Input {...ids} type="search" value={words} onChange={(e) => setWords(e.target.value)} />}</Field>
              <ul className="max-h-80 overflow-auto rounded-lg border border-line bg-surface">
                {items
                  .filter((i) => `#${i.number} ${i.title}`.toLowerCase().includes(words.toLowerCase()))
                  .map((i) => (
                    <li key={i.number} className="border-b border-line">
                      <label className="flex items-start gap-2 px-3 py-1.5">
                        <input type="checkbox" className="mt-1 size-4" checked={chosen.includes(i.number)} onChange={() => setChosen((was) => (was.includes(i.number) ? was.filter((n) => n !== i.number) : [...was, i.number]))} />
                        <span className="min-w-0 wrap-anywhere">
                          <span className="text-muted">#{i.number}</span> {i.title}
                        </span>
                      </label>
                    </li>
                  ))}
              </ul>
            </>
          )
        }
      </Answer>
    </Choices>
  );
}

interface ChoicesProps extends WayProps {
  title: string;
  nodes: readonly Sketch[];
  more?: ReactNode;
  children: ReactNode;
}

/** What a draft is of, the program of its agents and the check of their work. */
function Choices({ start, title, nodes, more, children, onText }: ChoicesProps) {
  const kinds = start.kinds.length > 0 ? start.kinds : ["claude"];
  const [kind, setKind] = useState(kinds[0] ?? "");
  const [verify, setVerify] = useState(start.checks[0] ?? "");
  return (
    <>
      <h2 className="text-title font-semibold">{title}</h2>
      {children}
      {more}
      <div className="grid gap-3 sm:grid-cols-2">
        <Field label="Agents" hint={start.kinds.length > 0 ? "The program that they are." : "It is not installed yet."}>
          {(ids) => <Select {...ids} options={kinds} value={kind} onChange={(e) => setKind(e.target.value)} />}
        </Field>
        <Field label="Check" hint="A command that the work must pass. Empty: none.">
          {(ids) => (
            <>
              <Input {...ids} className="font-mono" list={`${ids.id}-checks`} placeholder="make test" value={verify} onChange={(e) => setVerify(e.target.value)} />
              <datalist id={`${ids.id}-checks`}>
                {start.checks.map((c) => (
                  <option key={c} value={c} />
                ))}
              </datalist>
            </>
          )}
        </Field>
      </div>
      <Draw start={start} nodes={nodes} kind={kind} verify={verify.trim()} onText={onText} />
    </>
  );
}

interface DrawProps extends WayProps {
  title?: string;
  nodes: readonly Sketch[];
  kind: string;
  verify: string;
}

/** The nodes of a draft, and the order to write its text. */
function Draw({ start, title, nodes, kind, verify, onText }: DrawProps) {
  const draw = useOrder(async () => {
    const out = await api.POST("/api/graph/draft", {
      body: { session: start.session, kind, ...(verify === "" ? {} : { verify }), nodes: nodes.map((n) => ({ name: n.name, ...(n.task === undefined ? {} : { task: n.task }), ...(n.role === undefined ? {} : { role: n.role }), ...(n.kind === undefined ? {} : { kind: n.kind }), after: n.after.join(",") })) },
    });
    if (out.data) {
      onText(out.data.text);
    }
  });
  return (
    <section aria-label="Nodes of the draft" className="flex flex-col gap-3">
      {title !== undefined && <h2 className="text-title font-semibold">{title}</h2>}
      {nodes.length > 0 && (
        <ol className="rounded-lg border border-line bg-surface">
          {nodes.map((n) => (
            <li key={n.name} className="border-b border-line px-3 py-1.5 wrap-anywhere last:border-b-0">
              <strong>{n.name}</strong> {n.role === "gate" ? <span className="text-muted">waits for your approval</span> : <span className="text-muted">{n.task}</span>}
              {n.after.length > 0 && <span className="text-muted"> (after {n.after.join(", ")})</span>}
            </li>
          ))}
        </ol>
      )}
      <div>
        <Button tone="accent" disabled={nodes.length === 0} busy={draw.isPending} onClick={() => draw.mutate()}>
          {nodes.length === 0 ? "Draw the graph" : `Draw the graph of ${count(nodes.length, "node")}`}
        </Button>
      </div>
    </section>
  );
}
