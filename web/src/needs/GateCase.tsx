import { Link } from "react-router";

import type { Api } from "@/api/client";
import { visible } from "@/changes/visible";
import { DeliveredCheck, Figure, Part } from "@/needs/pieces";
import { total } from "@/node/words";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Markdown } from "@/ui/markdown";
import { span } from "@/ui/time";

/** What was done below a gate: what a person approves. */
export function GateCase({ run, found: c }: { run: string; found: Api<"Case"> }) {
  const files = c.below.flatMap((p) => p.files);
  const checks = c.below.flatMap((p) => p.checks);
  const failed = checks.filter((k) => !k.passed).length;
  return (
    <Part title="Work below the gate">
      {c.below.length === 0 ? (
        <p className="text-muted">Nothing comes before this gate.</p>
      ) : (
        <>
          <p className="flex flex-wrap gap-x-4 gap-y-1">
            <Figure name="Nodes">{c.below.length}</Figure>
            <Figure name="Files">
              {files.length} <Lines files={files} />
            </Figure>
            {checks.length > 0 && <Figure name="Checks">{failed === 0 ? `${checks.length} passed` : `${failed} of ${checks.length} failed`}</Figure>}
            {total(c.used) > 0 && <Figure name="Tokens">{tokens(total(c.used))}</Figure>}
            <Figure name="Took">{span(took(c.below))}</Figure>
          </p>
          <ul className="flex flex-col gap-2">
            {c.below.map((p) => (
              <li key={p.name}>
                <Work run={run} part={p} />
              </li>
            ))}
          </ul>
        </>
      )}
    </Part>
  );
}

/** From the first start to the last end, in milliseconds. */
function took(parts: readonly Api<"CasePart">[]): number {
  const starts = parts.flatMap((p) => (p.started === undefined ? [] : [Date.parse(p.started)]));
  const ends = parts.flatMap((p) => (p.ended === undefined ? [] : [Date.parse(p.ended)]));
  return starts.length === 0 || ends.length === 0 ? 0 : Math.max(...ends) - Math.min(...starts);
}

function Lines({ files }: { files: readonly Api<"DeliveredFile">[] }) {
  return (
    <>
      <span className="text-ok">+{files.reduce((n, f) => n + f.added, 0)}</span> <span className="text-bad">−{files.reduce((n, f) => n + f.deleted, 0)}</span>
    </>
  );
}

function Work({ run, part: p }: { run: string; part: Api<"CasePart"> }) {
  const place = `/runs/${encodeURIComponent(run)}/nodes/${encodeURIComponent(p.name)}`;
  return (
    <article aria-label={p.name} className="flex flex-col gap-1 rounded-md border border-line bg-surface p-3">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h4 className="font-semibold wrap-anywhere">
          <Link to={place} className="text-accent underline">
            {p.name}
          </Link>
        </h4>
        <Label>{p.label}</Label>
        {p.commits > 0 && (
          <span className="text-muted">
            {count(p.commits, "commit")} <Lines files={p.files} />
          </span>
        )}
        {total(p.used) > 0 && <Figure name="Tokens">{tokens(total(p.used))}</Figure>}
        {p.started !== undefined && p.ended !== undefined && <Figure name="Took">{span(Date.parse(p.ended) - Date.parse(p.started))}</Figure>}
      </header>
      {p.summary !== "" && (
        <div className="max-w-prose">
          <Markdown>{p.summary}</Markdown>
        </div>
      )}
      {p.checks.map((k, i) => (
        <DeliveredCheck key={i} check={k} />
      ))}
      {p.files.length > 0 && (
        <ul aria-label={`Files of ${p.name}`}>
          {p.files.slice(0, 12).map((f) => (
            <li key={f.path} className="flex gap-3 font-mono text-code">
              <Link to={`${place}?tab=changes&file=${encodeURIComponent(f.path)}`} className="min-w-0 text-accent underline wrap-anywhere">
                {visible(f.path)}
              </Link>
              <span className="shrink-0">{f.binary === true ? <span className="text-muted">binary</span> : <Lines files={[f]} />}</span>
            </li>
          ))}
          {p.files.length > 12 && (
            <li>
              <Link to={`${place}?tab=changes`} className="text-accent underline">{`${p.files.length - 12} more files`}</Link>
            </li>
          )}
        </ul>
      )}
    </article>
  );
}
