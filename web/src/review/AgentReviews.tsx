import { ScanSearch } from "lucide-react";
import { Link, useSearchParams } from "react-router";

import type { Api } from "@/api/client";
import { visible } from "@/changes/visible";
import { placesIn } from "@/review/places";
import { Label, toneOf } from "@/ui/label";
import { Markdown } from "@/ui/markdown";
import { Ago } from "@/ui/time";

/** What the nodes that reviewed a work say about it, with links to the lines that they name. */
export function AgentReviews({ run, work, of }: { run: string; work: Api<"Delivery">; of: (r: Api<"AgentReview">) => boolean }) {
  return work.reviews.filter(of).map((r) => <AgentReview key={r.node} run={run} review={r} work={work} />);
}

function AgentReview({ run, review: r, work }: { run: string; review: Api<"AgentReview">; work: Api<"Delivery"> }) {
  const outputs = Object.entries(r.outputs ?? {});
  return (
    <section aria-label={`Review by ${r.node}`} className="max-w-prose rounded-md border border-line-strong bg-raised px-3 py-1.5">
      <h3 className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <ScanSearch aria-hidden size={16} className="shrink-0 text-muted" />
        <span className="font-semibold wrap-anywhere">
          Review by{" "}
          <Link to={`/runs/${encodeURIComponent(run)}/nodes/${encodeURIComponent(r.node)}`} className="text-accent underline">
            {r.node}
          </Link>
        </span>
        <Label tone={toneOf(r.label)}>{r.label}</Label>
        {r.text !== "" && r.at !== undefined && (
          <span className="text-muted">
            <Ago at={r.at} /> ago
          </span>
        )}
      </h3>
      {r.text !== "" && r.earlier === true && <p className="text-warn">{`${r.node} read an earlier state of the work.`}</p>}
      {r.text !== "" && <Markdown>{r.text}</Markdown>}
      {r.text === "" && r.at === undefined && <p className="text-muted">{`${r.node} has not reported yet.`}</p>}
      {outputs.length > 0 && (
        <ul aria-label={`Outputs of ${r.node}`}>
          {outputs.map(([key, value]) => (
            <li key={key} className="wrap-anywhere">
              <span className="text-muted">{visible(key)}</span> {visible(value)}
            </li>
          ))}
        </ul>
      )}
      <NamedLines text={r.text} work={work} />
    </section>
  );
}

/** Links to the lines of the diff that a text names. */
function NamedLines({ text, work }: { text: string; work: Api<"Delivery"> }) {
  const [params] = useSearchParams();
  const places = placesIn(
    text,
    work.files.map((f) => f.path),
  );
  if (places.length === 0) {
    return null;
  }
  const to = (path: string, line: number) => {
    const next = new URLSearchParams(params);
    next.set("file", path);
    next.set("line", String(line));
    next.set("all", work.commit);
    return `?${next.toString()}`;
  };
  return (
    <ul aria-label="Lines that it names" className="flex flex-wrap gap-x-3">
      {places.map(({ path, line }) => (
        <li key={`${path}:${line}`}>
          <Link to={to(path, line)} replace className="inline-flex min-h-6 items-center font-mono text-code text-accent underline wrap-anywhere">
            {`${visible(path)}:${line}`}
          </Link>
        </li>
      ))}
    </ul>
  );
}
