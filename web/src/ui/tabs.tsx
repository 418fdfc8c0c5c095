import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { useSearchParams } from "react-router";

export interface Tab {
  id: string;
  label: string;
  badge?: string | number | undefined;
  content: () => ReactNode; // made when it is looked at
}

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
      <Radix.List aria-label={label} className="flex shrink-0 flex-wrap gap-x-1 border-b border-line px-2">
        {tabs.map((t) => (
          <Radix.Trigger
            key={t.id}
            value={t.id}
            className="-mb-px inline-flex min-h-9 items-center gap-1.5 border-b-2 border-transparent px-2.5 whitespace-nowrap outline-offset-[-2px] text-muted data-[state=active]:border-accent data-[state=active]:text-text"
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
