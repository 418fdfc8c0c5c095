import { clsx } from "clsx";
import { FileJson } from "lucide-react";
import { memo, useMemo, useState } from "react";
import { Link } from "react-router";

import { WholeDialog } from "@/activity/ActivityItem";
import type { Named, Told } from "@/activity/story";
import { IconButton } from "@/ui/button";
import type { Tone } from "@/ui/label";
import { VirtualList } from "@/ui/list";
import { clock, day, exact } from "@/ui/time";

type Row = { key: string; day: string } | Told;

/** The story, the newest first, with the days that it goes through. */
export function StoryView({ lines, more }: { lines: readonly Told[]; more: (() => void) | undefined }) {
  const rows = useMemo(() => {
    const out: Row[] = [];
    let last = "";
    for (const t of lines) {
      const of = day(new Date(t.at));
      if (of !== last) {
        out.push({ key: `day ${of}`, day: of });
        last = of;
      }
      out.push(t);
    }
    return out;
  }, [lines]);
  return (
    <VirtualList
      label="What happened, newest first"
      items={rows}
      keyOf={(r) => r.key}
      estimate={36}
      more={more}
      row={(r) => ("day" in r ? <h2 className="border-b border-line bg-sunken px-4 py-1 font-semibold">{r.day === day(new Date()) ? "Today" : r.day}</h2> : <Line told={r} />)}
    />
  );
}

const dots: Readonly<Record<Tone, string>> = { ok: "bg-ok", warn: "bg-warn", bad: "bg-bad", info: "bg-info", muted: "bg-line-strong" };

const Line = memo(function Line({ told: t }: { told: Told }) {
  const [open, setOpen] = useState(false);
  return (
    <article className="flex min-h-9 items-start gap-3 border-b border-line px-4 py-1">
      <time dateTime={t.at} title={exact(t.at)} className="w-11 shrink-0 py-1 text-muted tabular-nums">
        {clock(new Date(t.at))}
      </time>
      <span aria-hidden className={clsx("mt-2.5 size-2 shrink-0 rounded-full", dots[t.tone])} />
      <p className="line-clamp-3 min-w-0 grow py-1 wrap-anywhere">
        <Thing of={t.who} strong /> <span className={t.tone === "bad" ? "text-bad" : ""}>{t.does}</span>
        {t.what && (
          <>
            {" "}
            <Thing of={t.what} />
          </>
        )}
        {t.times > 1 && ` ${t.times} times`}
        {t.more !== "" && <span className="text-muted">: {t.more}</span>}
      </p>
      {t.seq > 0 && (
        <IconButton label={`Event ${t.seq} as the log has it`} className="-my-0.5 shrink-0 text-muted" onClick={() => setOpen(true)}>
          <FileJson size={15} />
        </IconButton>
      )}
      {open && <WholeDialog seq={t.seq} onClose={() => setOpen(false)} />}
    </article>
  );
});

function Thing({ of, strong = false }: { of: Named; strong?: boolean }) {
  const text = strong ? <strong>{of.text}</strong> : of.text;
  return of.to === undefined ? (
    text
  ) : (
    <Link to={of.to} className="text-accent hover:underline">
      {text}
    </Link>
  );
}
