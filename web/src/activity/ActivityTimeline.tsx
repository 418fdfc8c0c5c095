import { useMemo } from "react";
import { Link } from "react-router";

import { lanes, type Item } from "@/activity/items";
import { Button } from "@/ui/button";
import { count } from "@/ui/figures";

const parts = 60;

/** How much happened where and when, as far as it is loaded. */
export function ActivityTimeline({ items, more }: { items: readonly Item[]; more: (() => void) | undefined }) {
  const { lanes: rows, from, to } = useMemo(() => lanes(items, parts, 50), [items]);
  const most = Math.max(1, ...rows.flatMap((r) => r.cells));
  return (
    <div className="flex flex-col gap-2 p-4">
      <p className="flex flex-wrap items-center justify-between gap-x-3 text-muted">
        <time dateTime={new Date(from).toISOString()}>{new Date(from).toLocaleString()}</time>
        <span>{count(items.length, "event")}</span>
        <time dateTime={new Date(to).toISOString()}>
          {new Date(to).toLocaleString()}
        </time>
      </p>
      <ul className="flex flex-col gap-1">
        {rows.map((r) => (
          <li key={r.source} className="flex items-center gap-2">
            <Link to={`/activity?source=${encodeURIComponent(r.source)}`} className="w-28 shrink-0 truncate hover:underline" title={r.source}>
              {r.label}
            </Link>
            <span role="img" aria-label={`${r.label}: ${count(r.total, "event")}`} className="flex h-6 min-w-0 grow overflow-hidden rounded bg-sunken">
              {r.cells.map((n, i) => (
                <span key={i} className={`h-full grow basis-0 ${n > 0 ? "bg-accent" : ""}`} style={n > 0 ? { opacity: 0.25 + (0.75 * n) / most } : undefined} />
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
