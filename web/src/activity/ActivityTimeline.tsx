import { useMemo } from "react";
import { Link } from "react-router";

import { lanes } from "@/activity/items";
import type { Logged } from "@/activity/story";
import { Button } from "@/ui/button";
import { count } from "@/ui/figures";
import { clock, exact, moment } from "@/ui/time";

const parts = 60;
/** A time stands over each so many of the parts. */
const every = 15;

/** A point of the axis: to the second where that tells points apart, and with its day where there are several. */
function tick(at: number, span: number): string {
  const whole = exact(at);
  const time = span < 20 * 60_000 ? whole.slice(whole.indexOf(", ") + 2) : clock(new Date(at));
  return span < 24 * 3600_000 ? time : moment(at);
}

/** How much happened where and when, as far as it is loaded. */
export function ActivityTimeline({ items, more, runs }: { items: readonly Logged[]; more: (() => void) | undefined; runs: (id: string) => string | undefined }) {
  const { lanes: rows, from, to } = useMemo(() => lanes(items, parts, 50, runs), [items, runs]);
  const most = Math.max(1, ...rows.flatMap((r) => r.cells));
  return (
    <div className="flex flex-col gap-2 p-4">
      <p className="flex flex-wrap items-center justify-between gap-x-3 text-muted">
        <span>
          <time dateTime={new Date(from).toISOString()}>{moment(from)}</time> to <time dateTime={new Date(to).toISOString()}>{moment(to)}</time>
        </span>
        <span>{count(items.length, "event")}</span>
      </p>
      <div aria-hidden className="flex gap-x-2 text-sm text-muted">
        <span className="hidden shrink-0 sm:block sm:wide-56" />
        <span className="flex min-w-0 grow">
          {Array.from({ length: parts / every }, (_, i) => (
            <span key={i} data-tick className="min-w-0 grow basis-0 truncate border-l border-line-strong pl-1 tabular-nums">
              {tick(from + ((to - from) * i * every) / parts, to - from)}
            </span>
          ))}
        </span>
        <span className="w-12 shrink-0" />
      </div>
      <ul className="flex flex-col gap-1">
        {rows.map((r) => (
          <li key={r.source} className="flex flex-wrap items-center gap-x-2 sm:flex-nowrap">
            <Link to={`/activity?tab=events&source=${encodeURIComponent(r.source)}`} className="w-full shrink-0 wrap-anywhere hover:underline sm:wide-56" title={r.source}>
              {r.label}
            </Link>
            <span role="img" aria-label={`${r.label}: ${count(r.total, "event")}`} className="flex h-6 min-w-0 grow overflow-hidden rounded bg-sunken">
              {r.cells.map((n, i) => (
                <span key={i} className={`h-full grow basis-0 ${i > 0 && i % every === 0 ? "border-l border-line-strong" : ""} ${n > 0 ? "bg-accent" : ""}`} style={n > 0 ? { opacity: 0.25 + (0.75 * n) / most } : undefined} />
              ))}
            </span>
            <span className="w-12 shrink-0 text-right text-muted">{r.total}</span>
          </li>
        ))}
      </ul>
      {more && (
        <div>
          <Button onClick={more}>Load older</Button>
        </div>
      )}
    </div>
  );
}
