import { CircleAlert, CircleCheck } from "lucide-react";
import { Link } from "react-router";

import type { Api } from "@/api/client";
import { visible } from "@/changes/visible";
import { Decision } from "@/review/Decision";
import { took } from "@/node/words";
import { count } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Markdown } from "@/ui/markdown";
import { Ago } from "@/ui/time";

const tones = { "to review": "warn", approved: "ok", "changed since it was approved": "warn", dropped: "bad", "sent back": "info", merged: "ok", "nothing to review": "muted" } as const;

/** The work of a node, as it is decided about. */
export function DeliveryView({ run, work: w }: { run: string; work: Api<"Delivery"> }) {
  const place = `/runs/${encodeURIComponent(run)}/nodes/${encodeURIComponent(w.node)}`;
  const added = w.files.reduce((n, f) => n + f.added, 0);
  const deleted = w.files.reduce((n, f) => n + f.deleted, 0);
  return (
    <article aria-label={w.node} className="rounded-lg border border-line bg-surface p-3">
      <header className="flex flex-wrap items-center gap-2">
        <h2 className="font-semibold wrap-anywhere">
          <Link to={place} className="text-accent underline">
            {w.node}
          </Link>
        </h2>
        <Label tone={tones[w.state]}>{w.state}</Label>
        <Label>{w.label}</Label>
        <span className="text-muted">
          {count(w.commits.length, "commit")}, {count(w.files.length, "file")} <span className="text-ok">+{added}</span> <span className="text-bad">−{deleted}</span>
        </span>
        {w.attempts > 1 && <span className="text-muted">{count(w.attempts, "attempt")}</span>}
        <div className="ml-auto">
          <Decision run={run} work={w} />
        </div>
      </header>
      {w.why !== "" && <p className="mt-1 text-muted wrap-anywhere">{`Not merged: ${w.why}`}</p>}
      {w.decision?.comment !== undefined && w.decision.comment !== "" && (
        <p className="mt-1 whitespace-pre-wrap wrap-anywhere">
          <span className="text-muted">
            {w.decision.verdict} <Ago at={w.decision.at} /> ago:
          </span>{" "}
          {w.decision.comment}
        </p>
      )}
      {w.built_on.length > 0 && <p className="mt-1 text-muted wrap-anywhere">{`Built on ${w.built_on.join(", ")}`}</p>}
      {w.summary !== "" && <Markdown>{w.summary}</Markdown>}
      {w.checks.length > 0 && (
        <ul aria-label="Checks" className="mt-1">
          {w.checks.map((c, i) => {
            const Icon = c.passed ? CircleCheck : CircleAlert;
            return (
              <li key={i} className="flex items-start gap-2">
                <Icon aria-hidden size={16} className={`mt-0.5 shrink-0 ${c.passed ? "text-ok" : "text-bad"}`} />
                <code className="min-w-0 wrap-anywhere">{c.command}</code>
                <span className="text-muted">{`${c.passed ? "passed" : "failed"}, ${took(c.took)}`}</span>
              </li>
            );
          })}
        </ul>
      )}
      {w.files.length > 0 && (
        <details className="mt-1">
          <summary className="text-muted">What was committed</summary>
          <ul className="my-1">
            {w.commits.map((c) => (
              <li key={c.id} className="wrap-anywhere">
                <code className="text-muted">{c.id.slice(0, 10)}</code> {visible(c.subject)}
              </li>
            ))}
          </ul>
          <ul>
            {w.files.map((f) => (
              <li key={f.path} className="font-mono text-[0.93em] wrap-anywhere">
                <Link to={`${place}?tab=changes&file=${encodeURIComponent(f.path)}`} className="text-accent underline">
                  {visible(f.path)}
                </Link>{" "}
                {f.binary === true ? (
                  <span className="text-muted">binary</span>
                ) : (
                  <>
                    <span className="text-ok">+{f.added}</span> <span className="text-bad">−{f.deleted}</span>
                  </>
                )}
              </li>
            ))}
          </ul>
        </details>
      )}
    </article>
  );
}
