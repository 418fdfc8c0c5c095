import { ArrowLeft, SquareTerminal } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Link } from "react-router";

import { api, hooks, type Api } from "@/api/client";
import { Changes } from "@/changes/Changes";
import { visible } from "@/changes/visible";
import { Conversation } from "@/conversation/Conversation";
import type { AgentSource } from "@/conversation/source";
import { IncidentFacts } from "@/health/IncidentFacts";
import { actionsOf, assign, commonActions, each, sendAnswer, settles, type Action } from "@/needs/actions";
import { AnswerForm } from "@/needs/AnswerForm";
import { decided, isGate, terminalOf } from "@/needs/answers";
import { GateCase } from "@/needs/GateCase";
import { Key } from "@/needs/HeldBar";
import { useDecide } from "@/needs/held";
import { AtTask, Silent } from "@/needs/NoReport";
import { Command } from "@/needs/Command";
import { CheckLine, Figure, Part, passed } from "@/needs/pieces";
import { Fenced } from "@/node/Fenced";
import { ReviewButtons } from "@/needs/ReviewButtons";
import { RoomCase } from "@/needs/RoomCase";
import { ReviewView } from "@/review/ReviewView";
import { Button } from "@/ui/button";
import { count } from "@/ui/figures";
import { Label, toneOf } from "@/ui/label";
import { Markdown } from "@/ui/markdown";
import { Failed, Loading } from "@/ui/states";
import { Ago, moment } from "@/ui/time";
import { steadyClass } from "@/ui/useSteady";

type Need = Api<"Need">;

interface CaseProps {
  need: Need;
  steady: boolean; // it has been there long enough for a click to be meant for it
  like: readonly Need[]; // others that the same decision may fit
  chooseAll: (ids: readonly string[]) => void;
  back: (() => void) | undefined; // to the list, where it is not beside the case
}

/** The whole case of what waits, and what can be decided about it. */
export default function CaseView({ need, steady, like, chooseAll, back }: CaseProps) {
  // No event tells what all projects of a person share, such as who waits for an account.
  const known = hooks.useQuery("get", "/api/needs/case", { params: { query: { id: need.id } } }, { refetchInterval: 5000 });
  const c = known.data;
  const answers = need.kind !== "message" && need.orders?.includes("answer") === true; // the answer is the first thing to give, and stands before the others
  const buttons = <Buttons need={need} steady={steady} like={like} chooseAll={chooseAll} known={known} />;
  return (
    <section data-case aria-labelledby="case" className="flex min-h-0 grow flex-col">
      <header className="flex shrink-0 flex-col gap-2 border-b border-line px-4 py-2">
        <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
          {back && (
            <Button tone="quiet" icon={<ArrowLeft aria-hidden size={16} />} onClick={back}>
              List
            </Button>
          )}
          <span className="text-muted">{need.called}</span>
          <h2 id="case" className="text-base font-semibold wrap-anywhere">
            {need.title}
          </h2>
          <Label tone={need.kind === "message" ? "info" : need.kind === "room" ? "warn" : toneOf(need.label)}>{need.label}</Label>
          <span className="flex flex-wrap gap-x-2 text-muted">
            {need.run !== undefined && (
              <Link to={`/runs/${encodeURIComponent(need.run)}`} className="text-accent underline">
                {`Run ${need.session ?? need.run}`}
              </Link>
            )}
            {need.since !== undefined && (
              <span>
                waits for <Ago at={need.since} />
              </span>
            )}
          </span>
        </div>
        {!answers && buttons}
      </header>
      {need.kind === "review" ? (
        <Body known={known}>{(found) => found.review && <ReviewView run={need.run ?? ""} work={found.review} />}</Body>
      ) : (
        <div className="min-h-0 grow overflow-y-auto p-4" tabIndex={0} role="group" aria-label="The case">
          {/* What is long fills the pane; the command for a terminal stands at its end. */}
          <div className={`flex min-h-full flex-col gap-4 ${need.kind === "merge" || need.kind === "conflict" ? "" : "max-w-4xl"}`}>
            <Asked need={need} />
            {answers && buttons}
            {known.error ? <Failed error={known.error} retry={() => void known.refetch()} /> : c === undefined ? <Loading rows={2} /> : <Facts need={need} found={c} />}
            {need.try !== undefined && (
              <details className="text-sm text-muted">
                <summary>In a terminal</summary>
                <code className="wrap-anywhere">{need.try}</code>
              </details>
            )}
          </div>
        </div>
      )}
    </section>
  );
}

interface Known {
  data: Api<"Case"> | undefined;
  error: unknown;
  refetch: () => unknown;
}

function Body({ known, children }: { known: Known; children: (c: Api<"Case">) => ReactNode }) {
  if (known.data === undefined) {
    return known.error ? <Failed error={known.error} retry={() => void known.refetch()} /> : <Loading />;
  }
  return children(known.data);
}

function Buttons({ need, steady, like, chooseAll, known }: Pick<CaseProps, "need" | "steady" | "like" | "chooseAll"> & { known: Known }) {
  const decide = useDecide();
  const terminal = terminalOf(need);
  const terminalFirst = need.question?.in_pane === true || need.orders?.[0] === "terminal";
  const give = (a: Action) => decide([need], decided([need], a.done), a.send);
  const actions = actionsOf(need);
  const override = actions.find((a) => a.id === "override");
  return (
    <div className={`flex flex-wrap items-center gap-1.5 ${steadyClass(steady)}`}>
      {terminal !== undefined && terminalFirst && <Terminal to={terminal} first />}
      {need.kind === "review" && <ReviewButtons need={need} review={known.data?.review} failed={known.error !== null && known.error !== undefined} give={give} />}
      {need.kind !== "review" && actions.map((a) => (
        <Button key={a.id} tone={terminalFirst && a.tone === "accent" ? "plain" : a.tone} title={a.about} onClick={() => give(a)}>
          {a.label} {a.key !== "" && <Key>{a.key}</Key>}
        </Button>
      ))}
      {terminal !== undefined && !terminalFirst && <Terminal to={terminal} />}
      {need.kind === "merge" && <To to="/tasks/merge">Preview the merge</To>}
      {need.kind === "agent" && <To to={`/agents/${encodeURIComponent(need.name)}`}>Open agent</To>}
      {need.room !== undefined && <To to={`/rooms/${encodeURIComponent(need.room)}`}>Open room</To>}
      {need.kind === "room" && need.orders === undefined && need.label !== "cannot be read" && <To to={`/rooms/${encodeURIComponent(need.name)}?settings`}>Open settings</To>}
      {need.kind === "incident" && <To to="/health">Open health</To>}
      {(need.kind === "task" || need.kind === "merge") && <To to={`/tasks/${encodeURIComponent(need.name)}`}>Open task</To>}
      {(need.kind === "node" || need.kind === "failure" || need.kind === "review") && need.run !== undefined && <To to={nodePage(need.run, need.name)}>Open node</To>}
      {like.length > 0 && commonActions([need, ...like]).length > 0 && (
        <Button tone="quiet" onClick={() => chooseAll([need.id, ...like.map((n) => n.id)])}>{`Choose all ${like.length + 1} ${need.called.toLowerCase()}s${need.session === undefined ? "" : ` of ${need.session}`}`}</Button>
      )}
      {override !== undefined && <p className="w-full text-sm text-muted">{`${override.label}: ${override.about}`}</p>}
    </div>
  );
}

function nodePage(run: string, node: string): string {
  return `/runs/${encodeURIComponent(run)}/nodes/${encodeURIComponent(node)}`;
}

function To({ to, children }: { to: string; children: string }) {
  return (
    <Link to={to} className="inline-flex min-h-8 items-center rounded-md px-2 text-accent hover:underline">
      {children}
    </Link>
  );
}

function Terminal({ to, first = false }: { to: string; first?: boolean }) {
  return (
    <Link
      to={to}
      state={{ take: true }}
      className={`inline-flex min-h-8 items-center gap-1.5 rounded-md border px-2.5 py-1 font-medium ${first ? "border-accent bg-accent text-on-accent hover:opacity-90" : "border-line-strong hover:bg-sunken"}`}
    >
      <SquareTerminal aria-hidden size={15} />
      Open terminal <Key>e</Key>
    </Link>
  );
}

/** What is asked, in its own words, and where it is answered. */
function Asked({ need }: { need: Need }) {
  const decide = useDecide();
  const q = need.question;
  const answerable = need.orders?.includes("answer") === true;
  if (need.kind === "message") {
    return <Message need={need} />;
  }
  if (q?.in_pane === true) {
    return (
      <Part title="The dialog">
        {q.parts.map((p, i) => (
          <Dialog key={i} text={p.text} of={need.name} />
        ))}
        <p className="text-muted">Only keys in the terminal answer this dialog.</p>
      </Part>
    );
  }
  if (q?.silent === true) {
    return <Silent need={need} />;
  }
  const said = q?.parts.map((p) => p.text).join("\n");
  return (
    <>
      {need.text !== "" && need.kind !== "failure" && need.text !== said && need.text !== need.title && need.kind !== "conflict" && !(q && answerable) && <p className={`max-w-prose whitespace-pre-wrap wrap-anywhere ${need.kind === "room" && need.member === undefined ? "first-letter:uppercase" : ""}`}>{visible(need.text)}</p>}
      {answerable && (
        <div className="max-w-prose">
          <AnswerForm of={need.name} question={q} busy={false} keys={q !== undefined} send={(answer) => decide([need], `${need.name}: answered “${answer.text.slice(0, 60)}”`, () => sendAnswer(need, answer))} />
        </div>
      )}
      {need.kind === "limit" && <Limit need={need} />}
    </>
  );
}

/** Tells the agent that had a task what it wants to know, and gives it the task again. */
function answerTask(need: Need, text: string) {
  return settles(
    each(async (n) => {
      await api.POST("/api/messages", { body: { to: n.agent ?? "", subject: `Re: ${need.title}`.slice(0, 200), body: text, ...(n.messages === undefined ? {} : { re: n.messages[0] ?? "" }) } });
      await assign(n);
    }),
  );
}

/** What an account's limit holds up, and until when. */
function Limit({ need }: { need: Need }) {
  const nodes = need.nodes ?? [];
  return (
    <>
      {nodes.length > 0 && (
        <p className="wrap-anywhere">
          <span className="text-muted">{`${count(nodes.length, "node waits", "nodes wait")} for the account: `}</span>
          <Nodes run={need.run ?? ""} names={nodes} />
        </p>
      )}
      <p className="text-muted">
        {need.until === undefined ? "They continue by themselves when the limit ends." : `They continue by themselves when the limit ends, at ${moment(need.until)}.`} If the account works again earlier, try now.
      </p>
    </>
  );
}

/** What the program's dialog says: its first line is cmux's, the others are the screen's. */
function Dialog({ text, of }: { text: string; of: string }) {
  const [first = "", ...screen] = text.split("\n");
  return (
    <>
      <p className="wrap-anywhere">{first}</p>
      {screen.length > 0 && (
        <pre tabIndex={0} role="group" aria-label={`The dialog of ${of}`} className="max-h-96 overflow-auto rounded bg-sunken p-2 whitespace-pre-wrap wrap-anywhere">
          {visible(screen.join("\n"))}
        </pre>
      )}
    </>
  );
}

function Message({ need }: { need: Need }) {
  const decide = useDecide();
  const id = need.name;
  const mail = hooks.useQuery("get", "/api/messages/{id}", { params: { path: { id } } });
  if (mail.data === undefined) {
    return mail.error ? <Failed error={mail.error} retry={() => void mail.refetch()} /> : <Loading rows={2} />;
  }
  const { from, body } = mail.data;
  const reply = (text: string) => each(() => api.POST("/api/messages", { body: { to: from, subject: `Re: ${need.text}`.slice(0, 200), body: text, re: id } }));
  return (
    <>
      <div className="max-w-prose">{body.trim() === "" ? <p className="text-muted">The message has only its subject.</p> : <Markdown>{body}</Markdown>}</div>
      <div className="max-w-prose">
        <AnswerForm of={need.text} label={`Reply to ${from}`} verb="Reply" busy={false} send={({ text }) => decide([need], `${need.text}: replied`, reply(text))} />
      </div>
    </>
  );
}

/** What is known beside the question. */
function Facts({ need, found: c }: { need: Need; found: Api<"Case"> }) {
  const source: AgentSource | undefined = need.kind === "agent" ? { kind: "agent", name: need.name } : (need.kind === "task" || need.kind === "room") && need.agent !== undefined ? { kind: "agent", name: need.agent } : c.node && !isGate(need) && c.node.agent !== "command" && c.node.attempts.length > 0 ? { kind: "node", run: need.run ?? "", node: need.name } : undefined;
  const reason = c.node?.reason ?? "";
  return (
    <>
      {need.kind === "failure" && c.node && (
        <Part title="Why it failed">
          {/* A check says itself why it failed. */}
          {c.node.checks.every(passed) && <p className="whitespace-pre-wrap wrap-anywhere">{visible(reason === "" ? c.label : reason)}</p>}
          {c.node.checks.map((k, i) => (
            <CheckLine key={i} check={k} />
          ))}
          {c.node.attempts.length > 1 && <Figure name="Attempts">{String(c.node.attempts.length)}</Figure>}
        </Part>
      )}
      {c.node && <Fenced writes={c.node.fenced} />}
      {c.blocks.length > 0 && <Blocks run={need.run ?? ""} blocks={c.blocks} />}
      {c.tail !== "" && !c.node?.checks.some((k) => !passed(k) && k.output !== undefined && k.output !== "") && (
        <Part title="Last lines">
          <pre tabIndex={0} role="group" aria-label={`Last lines of ${need.name}`} className="max-h-96 overflow-auto rounded bg-sunken p-2 whitespace-pre-wrap wrap-anywhere">
            {visible(c.tail)}
          </pre>
        </Part>
      )}
      {isGate(need) && <GateCase run={need.run ?? ""} found={c} />}
      {c.task && (need.kind === "agent" ? <AtTask task={c.task} failed={c.failed} /> : <TaskFacts need={need} task={c.task} />)}
      {need.kind === "incident" && <Incident id={need.name} />}
      {need.kind === "room" && <RoomCase name={need.name} />}
      {source && (
        <Part title="Conversation" fills>
          <div className="flex h-80 grow flex-col rounded-md border border-line">
            <Conversation source={source} />
          </div>
        </Part>
      )}
      {need.kind === "failure" && c.node?.agent === "command" && <Command run={need.run ?? ""} node={need.name} />}
      {need.kind === "conflict" && need.run !== undefined && <Conflict run={need.run} names={need.name.split(", ")} files={need.files ?? []} />}
    </>
  );
}

/** The branches that do not fit together, beside each other. */
function Conflict({ run, names, files }: { run: string; names: readonly string[]; files: readonly string[] }) {
  return (
    <>
      <div>
        <p>A merge of both would conflict in:</p>
        <ul aria-label="Files in conflict" className="font-mono text-code text-bad">
          {files.map((f) => (
            <li key={f} className="wrap-anywhere">
              {visible(f)}
            </li>
          ))}
        </ul>
        <p className="mt-1 text-muted">Drop one, or open the changes of one and send it back with a comment.</p>
      </div>
      <div className="flex grow flex-wrap gap-4">
        {names.map((name) => (
          <div key={name} className="flex min-w-0 grow basis-96 flex-col">
            <Part title={`Changes of ${name}`} fills actions={<To to={`${nodePage(run, name)}?tab=changes`}>Open changes</To>}>
              <div className="h-80 grow rounded-md border border-line">
                <Changes source={{ kind: "node", run, node: name }} comment={false} first={files[0]} />
              </div>
            </Part>
          </div>
        ))}
      </div>
    </>
  );
}

const named = 8;

function Blocks({ run, blocks }: { run: string; blocks: readonly Api<"Beside">[] }) {
  return (
    <p className="wrap-anywhere">
      <span className="text-muted">{`${count(blocks.length, "node")} cannot start before: `}</span>
      <Nodes run={run} names={blocks.map((b) => b.name)} />
    </p>
  );
}

function Nodes({ run, names }: { run: string; names: readonly string[] }) {
  return (
    <>
      {names.slice(0, named).map((name, i) => (
        <span key={name}>
          {i > 0 && ", "}
          <Link to={nodePage(run, name)} className="text-accent underline">
            {name}
          </Link>
        </span>
      ))}
      {names.length > named && ` and ${names.length - named} more`}
    </>
  );
}

function TaskFacts({ need, task: t }: { need: Need; task: Api<"TaskView"> }) {
  const [changes, show] = useState(need.kind === "merge");
  const decide = useDecide();
  return (
    <>
      {t.reason !== "" && (
        <Part title="Why it waits">
          <p className="max-w-prose whitespace-pre-wrap wrap-anywhere">{visible(t.reason)}</p>
        </Part>
      )}
      {need.kind === "task" && need.agent !== undefined && (
        <div className="max-w-prose">
          <AnswerForm of={need.agent} verb="Answer" busy={false} send={({ text }) => decide([need], `${need.title}: answered`, answerTask(need, text))} />
          <p className="mt-1 text-sm text-muted">{`${need.agent} gets your answer as a message, and the task again.`}</p>
        </div>
      )}
      {need.kind === "task" && t.body !== "" && (
        <Part title="The task">
          <div className="max-w-prose">
            <Markdown>{t.body}</Markdown>
          </div>
        </Part>
      )}
      {t.result && t.result.summary !== "" && (
        <Part title="Summary">
          <div className="max-w-prose">
            <Markdown>{t.result.summary}</Markdown>
          </div>
        </Part>
      )}
      {t.result && t.result.checks.length > 0 && (
        <Part title="Checks">
          {t.result.checks.map((k, i) => (
            <CheckLine key={i} check={k} />
          ))}
        </Part>
      )}
      {t.result &&
        t.result.commits > 0 &&
        (changes ? (
          <Part title="Changes" fills>
            <div className="h-80 grow rounded-md border border-line">
              <Changes source={{ kind: "task", id: need.name }} />
            </div>
          </Part>
        ) : (
          <p>
            <Button onClick={() => show(true)}>{`Show changes (${t.result.diffstat})`}</Button>
          </p>
        ))}
    </>
  );
}

function Incident({ id }: { id: string }) {
  const { data } = hooks.useQuery("get", "/api/incidents/{id}", { params: { path: { id } } });
  return data && <IncidentFacts incident={data} />;
}
