import { Link } from "react-router";

import type { Agent } from "@/agents/agents";
import { give } from "@/agents/give";
import { visible } from "@/changes/visible";
import { AnswerForm } from "@/needs/AnswerForm";
import { useOrder } from "@/ui/toasts";

const plain = (text: string) => text.replace(/\s+/g, " ").trim();

/** What matters of the agent now: why it is down, and what it asks, where the reader answers it. */
export function AgentNow({ agent: a }: { agent: Agent }) {
  const answer = useOrder(give.answer, `${a.name} is answered.`);
  const detail = a.detail ?? "";
  const asks = a.question?.parts.every((p) => plain(detail).includes(plain(p.text))) === true; // the question below says the same
  const [why, warning] = [asks ? "" : detail, a.warning ?? ""];
  if (why === "" && warning === "" && a.question === undefined) {
    return null;
  }
  return (
    <section aria-label="Now" className="flex max-h-[40%] shrink-0 flex-col gap-2 overflow-auto border-b border-line bg-surface px-4 py-3">
      {why !== "" && <p className="whitespace-pre-wrap wrap-anywhere">{visible(why)}</p>}
      {warning !== "" && <p className="text-warn wrap-anywhere">{visible(warning)}</p>}
      {a.question !== undefined &&
        (a.question.in_pane === true ? (
          <>
            {a.question.parts.map((p, i) => (
              <pre key={i} tabIndex={0} role="group" aria-label={`The dialog of ${a.name}`} className="max-h-72 overflow-auto rounded bg-sunken p-2 whitespace-pre-wrap wrap-anywhere">
                {visible(p.text)}
              </pre>
            ))}
            <p>
              Only keys in{" "}
              <Link to={`/agents/${encodeURIComponent(a.name)}?tab=terminal`} state={{ take: true }} className="text-accent underline">
                the terminal
              </Link>{" "}
              answer this dialog.
            </p>
          </>
        ) : (
          <div className="max-w-prose">
            <AnswerForm of={a.name} question={a.question} busy={answer.isPending} send={(said) => answer.mutate({ name: a.name, ...said })} />
          </div>
        ))}
    </section>
  );
}
