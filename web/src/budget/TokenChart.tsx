import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { steps, type Chart } from "@/budget/series";
import { usePrefs } from "@/app/prefs";
import { tokens } from "@/ui/figures";
import { clock, day } from "@/ui/time";

const stepped = uPlot.paths.stepped?.({ align: 1 });

/** The tokens of each bucket as steps. The table below says the sums to who does not see them. */
export default function TokenChart({ chart, label }: { chart: Chart; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  const theme = usePrefs((p) => p.theme);
  useEffect(() => {
    const el = box.current;
    if (!el) {
      return;
    }
    const style = getComputedStyle(el);
    const line = style.getPropertyValue("--color-line");
    const text = style.getPropertyValue("color");
    // A canvas knows no light-dark(): an element says what a token is.
    const probe = document.createElement("span");
    probe.style.setProperty("transition", "none", "important"); // with reduced motion each color would still be the one before
    el.append(probe);
    const real = (token: string) => {
      probe.style.color = `var(--color-${token})`;
      return getComputedStyle(probe).color;
    };
    const colors = ["accent", "ok", "warn", "bad", "info", "muted"].map(real);
    const grid = line === "" ? text : real("line");
    probe.remove();
    const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
    const times = (_: uPlot, all: number[]) => all.map((t) => (chart.step < 21_600 ? clock(new Date(t * 1000)) : day(new Date(t * 1000))));
    const plot = new uPlot(
      {
        width: Math.max(200, el.clientWidth),
        height: 280,
        legend: { live: false },
        scales: { y: { range: (_, __, max) => [0, Math.max(10, max)] } },
        axes: [{ ...axis, values: times }, { ...axis, size: 60, values: (_, ticks) => ticks.map((t) => tokens(t)) }],
        series: [
          {},
          ...chart.names.map((name, i) => ({
            label: name,
            stroke: colors[i % colors.length] ?? text,
            width: 2,
            dash: i < colors.length ? [] : [6, 4],
            ...(stepped ? { paths: stepped } : {}),
            points: { show: false },
          })),
        ],
      },
      steps(chart, Date.now() / 1000),
      el,
    );
    const watch = new ResizeObserver(() => plot.setSize({ width: Math.max(200, el.clientWidth), height: 280 }));
    watch.observe(el);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [chart, theme]);
  return (
    <>
      <div ref={box} aria-hidden className="min-h-80 w-full overflow-hidden" />
      <p className="sr-only">
        {label}: {chart.names.map((name, i) => `${name} ${tokens((chart.lines[i] ?? []).reduce((a, b) => a + b, 0))}`).join(", ")}
      </p>
    </>
  );
}
