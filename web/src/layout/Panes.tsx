import { Fragment, useState, type ReactNode } from "react";
import { Group, Panel, Separator } from "react-resizable-panels";

import { prefs, usePrefs } from "@/app/prefs";
import { useWide } from "@/layout/wide";

export interface Pane {
  id: string;
  label: string;
  size: number; // percent, until somebody changes it
  least?: number; // percent
  content: ReactNode;
}

/**
 * Panes beside each other, whose widths this browser keeps. Where there is no room for
 * all of them one is seen at a time, chosen by its name.
 */
export function Panes({ id, panes, main }: { id: string; panes: readonly Pane[]; main: string }) {
  const wide = useWide();
  return wide ? <Beside id={id} panes={panes} /> : <OneAtATime key={main} panes={panes} main={main} />;
}

function Beside({ id, panes }: { id: string; panes: readonly Pane[] }) {
  const layout = usePrefs((p) => p.layouts[id]);
  const fits = layout !== undefined && panes.every((p) => layout[p.id] !== undefined) && Object.keys(layout).length === panes.length;
  return (
    <Group
      id={id}
      disableCursor // it would add a style sheet
      className="min-h-0 grow"
      defaultLayout={fits ? { ...layout } : Object.fromEntries(panes.map((p) => [p.id, p.size]))}
      onLayoutChanged={(next) => prefs.getState().setLayout(id, next)}
    >
      {panes.map((p, i) => (
        <Fragment key={p.id}>
          {i > 0 && <Separator className="w-1 shrink-0 cursor-col-resize bg-line focus-visible:bg-accent" aria-label={`Width of ${panes[i - 1]?.label ?? ""}`} />}
          <Panel id={p.id} defaultSize={`${p.size}%`} minSize={`${p.least ?? 15}%`}>
            <section aria-label={p.label} className="flex h-full min-h-0 min-w-0 flex-col overflow-hidden">
              {p.content}
            </section>
          </Panel>
        </Fragment>
      ))}
    </Group>
  );
}

function OneAtATime({ panes, main }: { panes: readonly Pane[]; main: string }) {
  const [chosen, choose] = useState(main);
  const pane = panes.find((p) => p.id === chosen) ?? panes[0];
  return (
    <div className="flex min-h-0 grow flex-col">
      <div role="group" aria-label="Parts of the page" className="flex shrink-0 gap-1 border-b border-line px-2 py-1">
        {panes.map((p) => (
          <button
            key={p.id}
            type="button"
            aria-pressed={p.id === pane?.id}
            onClick={() => choose(p.id)}
            className="min-h-8 rounded-md px-2.5 aria-pressed:bg-accent-soft aria-pressed:text-accent"
          >
            {p.label}
          </button>
        ))}
      </div>
      {pane && (
        <section aria-label={pane.label} className="flex min-h-0 grow flex-col overflow-hidden">
          {pane.content}
        </section>
      )}
    </div>
  );
}
