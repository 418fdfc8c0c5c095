import type { Api } from "@/api/client";
import { visible } from "@/changes/visible";
import { Part } from "@/needs/pieces";
import { Ago } from "@/ui/time";

/** What is known of an incident: what helps, who knows of it, what was seen and what cmux did. */
export function IncidentFacts({ incident: i }: { incident: Api<"Incident"> }) {
  return (
    <>
      {i.advice && (
        <p className="rounded bg-info-soft p-2 wrap-anywhere">
          {i.advice.text} {i.advice.command !== undefined && i.advice.command !== "" && <code>{i.advice.command}</code>}
        </p>
      )}
      {i.acked_at !== null && (
        <p className="wrap-anywhere">
          Known to {i.acked_by} since <Ago at={i.acked_at} />
          {i.ack !== undefined && i.ack !== "" && `: ${i.ack}`}
        </p>
      )}
      {i.outcome !== undefined && i.outcome !== "" && <p className="wrap-anywhere">Ended: {i.outcome}</p>}
      <Part title="Evidence">
        <ul className="flex flex-col gap-1">
          {i.evidence.map((e, n) => (
            <li key={n} className="flex gap-2">
              <Ago at={e.at} className="w-9 shrink-0 text-muted" />
              <span className="min-w-0 whitespace-pre-wrap wrap-anywhere">{visible(e.text)}</span>
            </li>
          ))}
        </ul>
      </Part>
      <Part title="What cmux did">
        {i.deeds.length === 0 && <p className="text-muted">Nothing.</p>}
        <ul className="flex flex-col gap-1">
          {i.deeds.map((d, n) => (
            <li key={n} className="flex gap-2">
              <Ago at={d.at} className="w-9 shrink-0 text-muted" />
              <span className="min-w-0 wrap-anywhere">
                {visible(d.what)}
                {d.result !== "" && `: ${visible(d.result)}`}
              </span>
            </li>
          ))}
        </ul>
      </Part>
    </>
  );
}
