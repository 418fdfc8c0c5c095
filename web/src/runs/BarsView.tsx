import { clsx } from "clsx";

import { useWide } from "@/layout/wide";
import { ticks, type Bars } from "@/runs/bars";
import { duration } from "@/runs/figures";
import type { Tone } from "@/ui/label";
import { VirtualList } from "@/ui/list";

const fills: Record<Tone, string> = { ok: "bg-ok", warn: "bg-warn", bad: "bg-bad", info: "bg-info", muted: "bg-line-strong" };

/** Rows of bars in time, with an axis. */
export function BarsView({ label, bars, onSelect, selected }: { label: string; bars: Bars; onSelect?: (name: string) => void; selected?: string | undefined }) {
  const wide = useWide();
  const whole = Math.max(bars.seconds, 0.001);
  const at = (s: number) => `${(100 * s) / whole}%`;
  return (
    <div className="flex h-full min-h-16 grow flex-col">
      <div aria-hidden className="flex shrink-0 border-b border-line py-1 pr-16 text-sm text-muted">
        <span className="wide-28 shrink-0 md:wide-52" />
        <div className="relative h-4 grow">
          {ticks(whole, wide ? 6 : 2).map((t) => (
            <span key={t} data-tick className="absolute border-l border-line-strong pl-1 whitespace-nowrap" style={{ left: at(t) }}>
              {duration(t)}
            </span>
          ))}
        </div>
      </div>
      <div className="min-h-0 grow">
        <VirtualList
          label={label}
          items={bars.rows}
          keyOf={(r) => r.name}
          estimate={32}
          row={(r) => (
            <div className={clsx("flex h-8 items-center border-b border-line pr-16", selected === r.name && "bg-accent-soft")}>
              <span className={clsx("wide-28 shrink-0 truncate px-2 md:wide-52", r.critical && "font-semibold")} title={r.name}>
                {onSelect ? (
                  <button type="button" aria-pressed={selected === r.name} className="max-w-full truncate text-accent hover:underline" onClick={() => onSelect(r.name)}>
                    {r.name}
                  </button>
                ) : (
                  r.name
                )}
                {r.critical && <span className="sr-only"> (on the critical path)</span>}
              </span>
              <div className="relative h-4 grow">
                {r.bars.map((b, i) => (
                  <div
                    key={i}
                    role="img"
                    aria-label={b.text}
                    title={b.text}
                    className={clsx("absolute h-4 min-w-1 rounded-sm", fills[b.tone], r.critical && "ring-2 ring-accent/60")}
                    style={{ left: at(b.start), width: at(b.end - b.start) }}
                  />
                ))}
              </div>
            </div>
          )}
        />
      </div>
    </div>
  );
}
