import { useEffect, type ReactNode } from "react";
import { createStore, useStore } from "zustand";

const titles = createStore<{ title: string }>(() => ({ title: "" }));

/** The title of the page that is seen; app/title.tsx puts it into the browser's. */
export function usePageTitle(): string {
  return useStore(titles, (s) => s.title);
}

interface PageProps {
  title: string;
  actions?: ReactNode;
  about?: ReactNode; // beside the title: figures, a label
  children: ReactNode;
}

/** The frame of each page: its name, what can be done, and a body that fills the rest. */
export function Page({ title, actions, about, children }: PageProps) {
  useEffect(() => titles.setState({ title }), [title]);
  return (
    <section aria-labelledby="page-title" className="flex h-full min-h-0 flex-col">
      <header className="flex min-h-12 shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-4 py-2">
        <h1 id="page-title" className="text-lg font-semibold wrap-anywhere">
          {title}
        </h1>
        <div className="flex grow flex-wrap items-center gap-2 text-muted">{about}</div>
        <div className="flex flex-wrap items-center gap-2">{actions}</div>
      </header>
      <div className="flex min-h-0 grow flex-col overflow-auto">{children}</div>
    </section>
  );
}

/** A part of a page with a name. */
export function Panel({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <section aria-label={title} className="rounded-lg border border-line bg-surface">
      <header className="flex min-h-10 flex-wrap items-center gap-2 border-b border-line px-3 py-1">
        <h2 className="grow font-semibold">{title}</h2>
        {actions}
      </header>
      <div className="p-3">{children}</div>
    </section>
  );
}
