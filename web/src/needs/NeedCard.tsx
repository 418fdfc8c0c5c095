import { memo } from "react";
import { Link } from "react-router";

import type { Api } from "@/api/client";
import { AgentNeed, MessageNeed, TaskNeed } from "@/needs/OrgNeeds";
import { AnswerForm } from "@/needs/AnswerForm";
import { kindName, terminalOf } from "@/needs/answers";
import { OpenTerminal } from "@/needs/OpenTerminal";
import { visible } from "@/changes/visible";
import { NodeOrders } from "@/runs/NodeOrders";
import { useNodeOrders } from "@/runs/orders";
import { Label, toneOf } from "@/ui/label";
import { Ago } from "@/ui/time";
import { steadyClass, useSteady } from "@/ui/useSteady";

type Need = Api<"Need">;

/**
 * Something that waits, and all that can be done about it. `place` is other when it may have moved: a click that was
 * meant for what stood there does not count. It is drawn again when it is another: not with every answer.
 */
export const NeedCard = memo(function NeedCard({ need, place }: { need: Need; place: string }) {
  const steady = useSteady(place);
  const to = placeOf(need);
  const title = need.kind === "message" ? need.text : need.name; // the name of a message is its id
  const asked = title === need.text || need.question?.in_pane === true || (need.question?.parts.length === 1 && need.question.parts[0]?.text === need.text);
  return (
    <li className={`flex min-w-0 flex-col gap-2 rounded-lg border border-line bg-surface p-3 ${steadyClass(steady)}`}>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="text-muted">{kindName(need)}</span>
        <h2 className="font-semibold wrap-anywhere">
          {to === undefined ? (
            title
          ) : (
            <Link to={to} className="text-accent hover:underline">
              {need.name}
            </Link>
          )}
        </h2>
        <Label tone={need.kind === "message" ? "info" : toneOf(need.label)}>{need.label}</Label>
        {need.since !== undefined && (
          <span className="ml-auto text-muted">
            waits <Ago at={need.since} />
          </span>
        )}
      </div>
      {need.question?.in_pane === true && need.question.parts.map((p, i) => <Dialog key={i} text={p.text} of={need.name} />)}
      {need.text !== "" && !asked && <p className="max-h-40 overflow-auto whitespace-pre-wrap wrap-anywhere">{need.text}</p>}
      <Actions need={need} />
      {need.try !== undefined && (
        <p className="text-[0.92em] text-muted">
          {terminalOf(need) === undefined ? "In a terminal:" : "Or in your own terminal:"} <code className="wrap-anywhere">{need.try}</code>
        </p>
      )}
    </li>
  );
});

/** What the program's dialog says: its first line is cmux's, the others are the screen's. */
function Dialog({ text, of }: { text: string; of: string }) {
  const [first = "", ...screen] = text.split("\n");
  return (
    <>
      <p className="wrap-anywhere">{first}</p>
      {screen.length > 0 && (
        <pre tabIndex={0} role="group" aria-label={`The dialog of ${of}`} className="max-h-72 overflow-auto rounded bg-sunken p-2 whitespace-pre-wrap wrap-anywhere">
          {visible(screen.join("\n"))}
        </pre>
      )}
    </>
  );
}

function placeOf({ kind, run, name }: Need): string | undefined {
  if (kind === "agent") {
    return `/agents/${encodeURIComponent(name)}`;
  }
  if (run === undefined) {
    return undefined;
  }
  return kind === "limit" || kind === "conflict" ? `/runs/${run}` : `/runs/${run}/nodes/${encodeURIComponent(name)}${kind === "review" ? "?tab=review" : ""}`;
}

function Actions({ need }: { need: Need }) {
  switch (need.kind) {
    case "node":
    case "failure":
      return <NodeNeed need={need} />;
    case "review":
      return (
        <p>
          <Link to={placeOf(need) ?? ""} className="inline-flex min-h-8 items-center rounded-md border border-accent bg-accent px-2.5 py-1 font-medium text-on-accent hover:opacity-90">
            Review the work of {need.name}
          </Link>
        </p>
      );
    case "conflict":
      return (
        <p>
          {need.name.split(", ").map((n) => (
            <Link key={n} to={`/runs/${need.run ?? ""}/nodes/${encodeURIComponent(n)}`} className="mr-3 inline-flex min-h-8 items-center text-accent underline">
              Open {n}
            </Link>
          ))}
        </p>
      );
    case "limit":
      return <p className="text-muted">The nodes that use it go on by themselves when it is over.</p>;
    case "agent":
      return <AgentNeed need={need} />;
    case "task":
      return <TaskNeed need={need} />;
    case "message":
      return <MessageNeed need={need} />;
    case "run":
      return null;
  }
}

function NodeNeed({ need }: { need: Need }) {
  const run = need.run ?? "";
  const give = useNodeOrders(run, need.name);
  const orders = need.orders ?? [];
  return (
    <>
      {need.question !== undefined && orders.includes("answer") && (
        <AnswerForm of={need.name} question={need.question} busy={give.answer.isPending} send={give.answer.mutate} />
      )}
      <div className="flex flex-wrap gap-1.5">
        <OpenTerminal need={need} />
        <NodeOrders run={run} node={need.name} orders={orders} />
      </div>
    </>
  );
}
