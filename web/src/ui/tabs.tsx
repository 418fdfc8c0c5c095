import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { useSearchParams } from "react-router";

export interface Tab {
  id: string;
  label: string;
  badge?: string | number | undefined;
  content: () => ReactNode; // made when it is looked at
}

/** Scrolls the row of tabs to the one that is chosen, and nothing else. */
function show(tab: HTMLElement | null): void {
  const row = tab?.parentElement;
  if (tab && row && (tab.offsetLeft < row.scrollLeft || tab.offsetLeft + tab.offsetWidth > row.scrollLeft + row.clientWidth - fade)) {
    row.scrollLeft = tab.offsetLeft - row.clientWidth / 2 + tab.offsetWidth / 2;
  }
}

/** How wide the end of the row fades, in pixels, as in styles.css. */
const fade = 24;

/** Tabs whose choice is in the address (`?NAME=ID`), so that a link leads to it. Without one it is `first`, or the first of them. */
export function Tabs({ name = "tab", label, first, tabs }: { name?: string; label: string; first?: string; tabs: readonly Tab[] }) {
  const [params, setParams] = useSearchParams();
  const asked = params.get(name);
  const current = tabs.find((t) => t.id === asked) ?? tabs.find((t) => t.id === first) ?? tabs[0];
  if (!current) {
    return null;
  }
  const choose = (id: string) =>
    setParams(
      (was) => {
        const next = new URLSearchParams(was);
        next.set(name, id);
        return next;
      },
      { replace: true },
    );
  return (
    <Radix.Root value={current.id} onValueChange={choose} className="flex min-h-0 grow flex-col">
      {/* In one row, which scrolls where it is too long: its end fades. */}
      <Radix.List aria-label={label} className="tabs relative flex shrink-0 gap-x-1 overflow-x-auto px-2">
        {tabs.map((t) => (
          <Radix.Trigger
            key={t.id}
            ref={t.id === current.id ? show : undefined}
            value={t.id}
            className="inline-flex min-h-9 shrink-0 items-center gap-1.5 border-b-2 border-transparent px-2.5 whitespace-nowrap outline-offset-[-2px] text-muted data-[state=active]:border-accent data-[state=active]:text-text"
          >
            {t.label}
            {t.badge !== undefined && <span className="rounded bg-sunken px-1.5 text-muted">{t.badge}</span>}
          </Radix.Trigger>
        ))}
      </Radix.List>
      <Radix.Content key={current.id} value={current.id} className="flex min-h-0 grow flex-col overflow-auto">
        {current.content()}
      </Radix.Content>
    </Radix.Root>
  );
}
