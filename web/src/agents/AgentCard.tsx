import { Link } from "react-router";

import { AgentMenu } from "@/agents/AgentMenu";
import { called, nowOf, toneOfAgent, type Agent } from "@/agents/agents";
import { visible } from "@/changes/visible";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Ago } from "@/ui/time";

/** An agent in a few lines, and what can be ordered of it. */
export function AgentCard({ agent: a }: { agent: Agent }) {
  const line = nowOf(a);
  return (
    <li className="flex min-w-0 flex-col gap-1 rounded-lg border border-line bg-surface p-3">
      <div className="flex min-w-0 items-start gap-2">
        <div className="min-w-0 grow">
          <Link to={`/agents/${encodeURIComponent(a.name)}`} className="font-semibold wrap-anywhere hover:underline">
            {called(a)}
          </Link>
          <p className="text-muted wrap-anywhere">
            {[a.role, a.kind, a.model].filter((x) => x !== undefined && x !== "").join(" · ")}
          </p>
        </div>
        <AgentMenu agent={a} />
      </div>
      <p className="flex flex-wrap items-center gap-2">
        <Label tone={toneOfAgent(a)}>{a.state}</Label>
        {a.since !== null && <Ago at={a.since} className="text-muted" />}
        {a.task !== undefined && a.task !== "" ? (
          <span className="text-muted">
            on{" "}
            <Link to={`/tasks/${encodeURIComponent(a.task)}`} className="text-accent underline">
              {a.task}
            </Link>
            {a.task_since !== undefined && (
              <>
                {" for "}
                <Ago at={a.task_since} />
              </>
            )}
          </span>
        ) : (
          a.role === "worker" && <span className="text-muted">no task</span>
        )}
      </p>
      {line !== "" && (
        <p className="flex gap-2">
          <span className="line-clamp-2 min-w-0 grow wrap-anywhere" title={line}>
            {visible(line)}
          </span>
          {line === a.doing && a.doing_since !== undefined && <Ago at={a.doing_since} className="shrink-0 text-muted tabular-nums" />}
        </p>
      )}
      {a.detail !== undefined && a.detail !== "" && a.detail !== line && <p className="line-clamp-2 text-muted wrap-anywhere">{a.detail}</p>}
      {a.warning !== undefined && a.warning !== "" && <p className="text-warn wrap-anywhere">{a.warning}</p>}
      <p className="mt-auto flex flex-wrap gap-x-3 text-muted">
        <span>{tokens(a.tokens)} tokens</span>
        {a.context !== undefined && <Context share={a.context.share} />}
        {(a.waiting?.length ?? 0) > 0 && <span>{count(a.waiting?.length ?? 0, "message waits", "messages wait")}</span>}
      </p>
    </li>
  );
}

/** How much of the context window is in use. */
export function Context({ share }: { share: number }) {
  return (
    <span className="inline-flex items-center gap-1.5">
      context {share}%
      <meter aria-label="Context window in use" min={0} max={100} high={80} value={share} className="h-2 w-12" />
    </span>
  );
}
