import { createContext, useContext, useEffect, type ReactNode } from "react";
import { Link, useLocation } from "react-router";
import { createStore, useStore } from "zustand";

import { Loading } from "@/ui/states";

const titles = createStore<{ title: string }>(() => ({ title: "" }));

/** The title of the page that is seen; app/title.tsx puts it into the browser's. */
export function usePageTitle(): string {
  return useStore(titles, (s) => s.title);
}

/** The pages that belong together with the one that is seen. */
export const Beside = createContext<readonly { to: string; label: string }[]>([]);

interface PageProps {
  title: string;
  actions?: ReactNode;
  about?: ReactNode; // beside the title: figures, a label
  /** Whether the answers that fill the head are there; missing: the head needs none. Head and body are seen with them, at once: a head that grows would move the body. */
  ready?: boolean;
  children: ReactNode;
}

/** The frame of each page: its name among the pages beside it, what can be done, and a body that fills the rest. */
export function Page({ title, actions, about, ready = true, children }: PageProps) {
  useEffect(() => titles.setState({ title }), [title]);
  return (
    <section aria-labelledby="page-title" className="flex h-full min-h-0 flex-col">
      <header className="flex min-h-12 shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-4 py-2">
        <Heading title={title} />
        <div className="flex grow flex-wrap items-center gap-2 text-muted">{ready && about}</div>
        <div className="flex flex-wrap items-center gap-2">{ready && actions}</div>
      </header>
      {!ready && <Loading />}
      <div className={`flex min-h-0 grow flex-col overflow-auto ${ready ? "" : "invisible"}`}>{children}</div>
    </section>
  );
}

function Heading({ title }: { title: string }) {
  const beside = useContext(Beside);
  const { pathname } = useLocation();
  const name = (
    <h1 id="page-title" className="text-title font-semibold wrap-anywhere">
      {title}
    </h1>
  );
  return beside.length === 0 ? (
    name
  ) : (
    <nav aria-label="In this section">
      <ul className="flex flex-wrap items-baseline gap-x-4">
        {beside.map(({ to, label }) =>
          to === pathname ? (
            <li key={to}>{name}</li>
          ) : (
            <li key={to}>
              <Link to={to} className="text-title text-muted hover:text-text hover:underline">
                {label}
              </Link>
            </li>
          ),
        )}
      </ul>
    </nav>
  );
}

/** A part of a page with a name. It is seen when it is `ready`: what stands above it has come, and moves it no more. */
export function Panel({ title, actions, ready = true, children }: { title: string; actions?: ReactNode; ready?: boolean; children: ReactNode }) {
  return (
    <section aria-label={title} className={`rounded-lg border border-line bg-surface ${ready ? "" : "invisible"}`}>
      <header className="flex min-h-10 flex-wrap items-center gap-2 border-b border-line px-3 py-1">
        <h2 className="grow font-semibold">{title}</h2>
        {actions}
      </header>
      <div className="p-3">{children}</div>
    </section>
  );
}
