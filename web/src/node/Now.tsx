import { Link } from "react-router";

import { hooks, type Api } from "@/api/client";
import { visible } from "@/changes/visible";
import { Conversation } from "@/conversation/Conversation";
import { graphAt } from "@/editor/draft";
import { LogView } from "@/log/LogView";
import { useLogText } from "@/log/source";
import { AnswerForm } from "@/needs/AnswerForm";
import { GateCase } from "@/needs/GateCase";
import { useNeeds } from "@/needs/needs";
import { CheckLine, Part, passed } from "@/needs/pieces";
import { Fenced } from "@/node/Fenced";
import { labelText, lastOutput, live, reasonOf, stageOf, stopped } from "@/node/words";
import { useNodeOrders } from "@/runs/orders";
import { count } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Markdown } from "@/ui/markdown";

type Node = Api<"Inspection">;

interface NowProps {
  run: string;
  node: Node;
  brief?: boolean; // beside the graph: without the conversation and the whole log
}

/** What matters of a node now, by how it stands: why it failed, what it asks, what it does, or what it did; and what its fence refused. */
export function Now({ run, node: n, brief = false }: NowProps) {
  const failed = stageOf(n.label) === "failed";
  return (
    <>
      <Standing run={run} node={n} brief={brief} />
      {!failed && <Fenced writes={n.fenced} />}
    </>
  );
}

function Standing({ run, node: n, brief }: Required<NowProps>) {
  switch (stageOf(n.label)) {
    case "asks":
      return <Asks run={run} node={n} brief={brief} />;
    case "failed":
      return <Failure run={run} node={n} />;
    case "works":
      return <Works run={run} node={n} brief={brief} />;
    case "done":
      return <Done run={run} node={n} />;
    case "waits":
      return <Waits run={run} node={n} />;
  }
}

export function nodePath(run: string, node: string, tab?: string): string {
  return `/runs/${encodeURIComponent(run)}/nodes/${encodeURIComponent(node)}${tab === undefined ? "" : `?tab=${tab}`}`;
}

function Asks({ run, node: n, brief }: Required<NowProps>) {
  const give = useNodeOrders(run, n.name);
  if (n.role === "gate") {
    return (
      <>
        <p>Waits for your approval.</p>
        <Below run={run} node={n.name} />
        <Blocks run={run} nodes={n.before} />
      </>
    );
  }
  return (
    <>
      {n.question?.in_pane === true ? (
        <Part title="The dialog">
          {n.question.parts.map((p, i) => (
            <pre key={i} tabIndex={0} role="group" aria-label={`The dialog of ${n.name}`} className="max-h-96 overflow-auto rounded bg-sunken p-2 whitespace-pre-wrap wrap-anywhere">
              {visible(p.text)}
            </pre>
          ))}
          <p>
            Only keys in{" "}
            <Link to={nodePath(run, n.name, "terminal")} state={{ take: true }} className="text-accent underline">
              the terminal
            </Link>{" "}
            answer this dialog.
          </p>
        </Part>
      ) : n.orders.includes("answer") ? (
        <Part title={n.question === undefined ? "Waits for you" : n.question.silent === true ? "No report" : "Question"}>
          {n.question === undefined && n.reason !== undefined && <Words text={n.reason} />}
          <div className="max-w-prose">
            <AnswerForm of={n.name} question={n.question} busy={give.answer.isPending} send={give.answer.mutate} label={n.question === undefined ? `Message for ${n.name}` : "Answer"} verb={n.question === undefined ? "Send" : "Answer"} />
          </div>
        </Part>
      ) : (
        <Words text={n.reason ?? ""} />
      )}
      <Blocks run={run} nodes={n.before} />
      {!brief && <Talk run={run} node={n} />}
    </>
  );
}

/** What a person approves with a gate. */
function Below({ run, node }: { run: string; node: string }) {
  const need = useNeeds().data?.items.find((i) => i.run === run && i.name === node && i.kind === "node");
  const known = hooks.useQuery("get", "/api/needs/case", { params: { query: { id: need?.id ?? "" } } }, { enabled: need !== undefined });
  return known.data && <GateCase run={run} found={known.data} />;
}

function Failure({ run, node: n }: { run: string; node: Node }) {
  const failed = n.checks.filter((c) => !passed(c));
  const printed = failed.some((c) => c.output !== undefined && c.output !== ""); // which the log has too
  const why = n.reason !== undefined && n.reason !== "" ? n.reason : n.label.detail !== "" ? n.label.detail : (n.attempts.at(-1)?.detail ?? "");
  return (
    <>
      <Part
        title="Why it failed"
        actions={
          n.agent === "command" && (
            <Link to={graphAt(n.name)} className="text-accent underline">
              Edit its command
            </Link>
          )
        }
      >
        {/* A check says itself why it failed. */}
        {failed.length === 0 && <Words text={why !== "" ? why : n.label.reason === "" && n.label.code !== null ? `Its program ended with exit code ${n.label.code}.` : labelText(n.label)} />}
        {failed.map((c, i) => (
          <CheckLine key={i} check={c} />
        ))}
      </Part>
      <Fenced writes={n.fenced} />
      {n.attempts.length > 0 && <LastLines run={run} node={n.name} live={false} unchecked={printed} />}
      <Blocks run={run} nodes={n.before} />
    </>
  );
}

function Works({ run, node: n, brief }: Required<NowProps>) {
  const ask = n.orders.includes("answer") && n.agent !== "command";
  if (brief) {
    return <LastLines run={run} node={n.name} live />;
  }
  return (
    <>
      {n.agent === "command" ? (
        <Part title="Output">
          <div className="flex h-[60dvh] flex-col rounded-md border border-line">
            <LogView source={{ kind: "node", run, node: n.name }} live={live(n.label.state)} />
          </div>
        </Part>
      ) : (
        <Talk run={run} node={n} />
      )}
      {ask && <Tell run={run} node={n} />}
    </>
  );
}

function Tell({ run, node: n }: { run: string; node: Node }) {
  const give = useNodeOrders(run, n.name);
  return <AnswerForm of={n.name} busy={give.answer.isPending} send={give.answer.mutate} label={`Message for ${n.name}`} verb="Send" />;
}

function Talk({ run, node: n }: { run: string; node: Node }) {
  if (n.agent === "command" || n.attempts.length === 0) {
    return null;
  }
  return (
    <Part title="Conversation">
      <div className="flex h-[60dvh] min-h-80 flex-col rounded-md border border-line">
        <Conversation source={{ kind: "node", run, node: n.name }} now={live(n.label.state)} />
      </div>
    </Part>
  );
}

function Done({ run, node: n }: { run: string; node: Node }) {
  const last = n.attempts.at(-1);
  const summary = last?.summary ?? "";
  const changes = last?.diffstat ?? "";
  const nothing = summary === "" && n.checks.length === 0;
  return (
    <>
      {summary !== "" && (
        <Part title="Summary">
          <div className="max-w-prose">
            <Markdown>{summary}</Markdown>
          </div>
        </Part>
      )}
      {n.role !== "gate" && n.label.state !== "skipped" && (
        <Part title="Changes">
          {changes === "" ? (
            <p className="text-muted">No file has changed.</p>
          ) : (
            <p>
              <Link to={nodePath(run, n.name, "changes")} className="text-accent underline">
                {changes}
              </Link>
              {last?.commits !== undefined && <span className="text-muted">{` in ${count(last.commits, "commit")}`}</span>}
            </p>
          )}
        </Part>
      )}
      {n.checks.length > 0 && (
        <Part title="Checks">
          {n.checks.map((c, i) => (
            <CheckLine key={i} check={c} />
          ))}
        </Part>
      )}
      {nothing && n.attempts.length > 0 && n.role !== "gate" && <LastLines run={run} node={n.name} live={false} />}
    </>
  );
}

function Waits({ run, node: n }: { run: string; node: Node }) {
  const missing = n.after.filter((b) => stageOf(b.label) !== "done");
  const reason = reasonOf(n, n.label.state);
  if (n.label.reason === stopped) {
    return <p>It was at work when the run was stopped. Resume the run, and it goes on.</p>;
  }
  return (
    <Part title={n.label.state === "blocked" ? "What blocks it" : "What it waits for"}>
      {missing.length === 0 ? (
        <p className="text-muted">{reason !== "" ? visible(reason) : "A free place to run in."}</p>
      ) : (
        <NodeLinks run={run} nodes={missing} />
      )}
    </Part>
  );
}

/** Why something is as it is, in cmux's words or an agent's. */
function Words({ text }: { text: string }) {
  return text === "" ? null : <p className="max-w-prose whitespace-pre-wrap wrap-anywhere">{visible(text)}</p>;
}

function Blocks({ run, nodes }: { run: string; nodes: readonly Api<"Beside">[] }) {
  return (
    nodes.length > 0 && (
      <Part title={count(nodes.length, "node waits for it", "nodes wait for it")}>
        <NodeLinks run={run} nodes={nodes} />
      </Part>
    )
  );
}

export function NodeLinks({ run, nodes }: { run: string; nodes: readonly Api<"Beside">[] }) {
  return (
    <ul className="flex flex-wrap gap-x-3 gap-y-1">
      {nodes.map((b) => (
        <li key={b.name} className="inline-flex min-h-8 items-center gap-1">
          <Link to={nodePath(run, b.name)} className="text-accent underline wrap-anywhere">
            {b.name}
          </Link>
          <Label>{labelText(b.label)}</Label>
        </li>
      ))}
    </ul>
  );
}

function OpenLog({ run, node }: { run: string; node: string }) {
  return (
    <Link to={nodePath(run, node, "log")} className="text-accent underline">
      Open log
    </Link>
  );
}

/** The end of what the node's program wrote; `unchecked`: before its checks, whose output stands elsewhere. */
function LastLines({ run, node, live: grows, unchecked = false }: { run: string; node: string; live: boolean; unchecked?: boolean }) {
  const { log } = useLogText({ kind: "node", run, node }, grows);
  const text = lastOutput(log?.lines.map((l) => l.text) ?? [], unchecked);
  if (text === "") {
    return null;
  }
  return (
    <Part title="Last output" actions={<OpenLog run={run} node={node} />}>
      <pre
        ref={(box) => {
          if (box && grows) {
            box.scrollTop = box.scrollHeight; // what it does now
          }
        }}
        tabIndex={0}
        role="group"
        aria-label={`Last output of ${node}`}
        className="max-h-96 overflow-auto rounded bg-sunken p-2 whitespace-pre-wrap wrap-anywhere"
      >
        {visible(text)}
      </pre>
    </Part>
  );
}
