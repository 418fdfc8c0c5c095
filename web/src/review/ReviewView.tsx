import { MessagesSquare } from "lucide-react";
import { useState } from "react";
import { useSearchParams } from "react-router";

import type { Api } from "@/api/client";
import { Changes } from "@/changes/Changes";
import { visible } from "@/changes/visible";
import { Conversation } from "@/conversation/Conversation";
import { useWide } from "@/layout/wide";
import { DeliveredCheck } from "@/needs/pieces";
import { AgentReviews } from "@/review/AgentReviews";
import { Button } from "@/ui/button";
import { count } from "@/ui/figures";
import { Markdown } from "@/ui/markdown";
import { Ago } from "@/ui/time";

/** The work of a node on one page: summary, checks and commits, the changes, and the conversation beside them. */
export function ReviewView({ run, work: w }: { run: string; work: Api<"Delivery"> }) {
  const wide = useWide();
  const [talk, setTalk] = useState(false);
  const source = { kind: "node", run, node: w.node } as const;
  const [params, setParams] = useSearchParams();
  const since = w.since !== "" && params.get("all") !== w.commit; // a second look is at what is new
  const show = (all: boolean) =>
    setParams(
      (was) => {
        const next = new URLSearchParams(was);
        next.delete("line");
        if (all) {
          next.set("all", w.commit);
        } else {
          next.delete("all");
        }
        return next;
      },
      { replace: true },
    );
  return (
    <div className="flex min-h-0 grow">
      <div className={`flex min-h-0 min-w-0 grow flex-col ${wide ? "" : "overflow-y-auto"}`}>
        <div className={`flex shrink-0 flex-col gap-1.5 border-b border-line px-4 py-2 ${wide ? "max-h-[40%] overflow-y-auto" : ""}`} tabIndex={0} role="group" aria-label={`About the work of ${w.node}`}>
          {w.why !== "" && w.state !== "to review" && <p className="text-muted wrap-anywhere">{`A merge leaves it out: ${w.why}`}</p>}
          <AgentReviews run={run} work={w} of={(r) => r.earlier !== true} />
          {w.decision?.comment !== undefined && w.decision.comment !== "" && (
            <section aria-label="What you sent it back with" className="max-w-prose border-l-2 border-line-strong pl-3">
              <h3 className="text-muted">
                You sent it back <Ago at={w.decision.at} /> ago:
              </h3>
              <p className="whitespace-pre-wrap wrap-anywhere">{visible(w.decision.comment.replaceAll("\n\n", "\n"))}</p>
            </section>
          )}
          {w.summary !== "" && (
            <div className="max-w-prose">
              <Markdown>{w.summary}</Markdown>
            </div>
          )}
          <AgentReviews run={run} work={w} of={(r) => r.earlier === true} />
          {w.checks.map((c, i) => (
            <DeliveredCheck key={i} check={c} />
          ))}
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-muted">
            {w.commits.length > 0 && (
              <details>
                <summary>{count(w.commits.length, "commit")}</summary>
                <ul>
                  {w.commits.map((c) => (
                    <li key={c.id} className="wrap-anywhere">
                      <code>{c.id.slice(0, 10)}</code> {visible(c.subject)}
                    </li>
                  ))}
                </ul>
              </details>
            )}
            {w.built_on.length > 0 && <span className="wrap-anywhere">{`Built on ${w.built_on.join(", ")}`}</span>}
            {w.reads && (
              <Button tone="quiet" icon={<MessagesSquare aria-hidden size={15} />} aria-pressed={talk} onClick={() => setTalk(!talk)}>
                {talk ? "Hide conversation" : "Show conversation"}
              </Button>
            )}
          </div>
        </div>
        {talk && !wide && (
          <div className="flex h-[70dvh] shrink-0 flex-col border-b border-line">
            <Conversation source={source} />
          </div>
        )}
        {w.since !== "" && (
          <div role="group" aria-label="Which changes" className="flex shrink-0 flex-wrap gap-1.5 border-b border-line px-3 py-1.5">
            <Button aria-pressed={since} tone={since ? "plain" : "quiet"} onClick={() => show(false)}>
              {w.decision?.verdict === "sent back" ? "Since you sent it back" : "Since you decided"}
            </Button>
            <Button aria-pressed={!since} tone={since ? "quiet" : "plain"} onClick={() => show(true)}>
              All changes
            </Button>
          </div>
        )}
        <div className={wide ? "min-h-0 grow" : "h-[80dvh] shrink-0"}>
          <Changes source={{ ...source, committed: true, ...(since ? { decided: true } : {}) }} comment={w.reads} send={false} />
        </div>
      </div>
      {talk && wide && (
        <section aria-label="Conversation" className="flex wide-96 shrink-0 flex-col border-l border-line">
          <Conversation source={source} />
        </section>
      )}
    </div>
  );
}
