import type { UseQueryResult } from "@tanstack/react-query";
import { CircleAlert, Inbox, Lock, WifiOff } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "react-router";

import { Problem } from "@/api/client";
import { Button } from "@/ui/button";
import { wayOf } from "@/ui/ways";

interface StateProps {
  icon: ReactNode;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}

function State({ icon, title, children, action }: StateProps) {
  return (
    <div className="flex h-full min-h-40 flex-col items-center justify-center gap-2 p-6 text-center">
      <span aria-hidden className="text-muted">
        {icon}
      </span>
      <p className="font-semibold">{title}</p>
      {children !== undefined && <div className="max-w-prose text-muted">{children}</div>}
      {action}
    </div>
  );
}

/** There is nothing yet: what belongs here, and how it comes here. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <State icon={<Inbox />} title={title} action={action}>
      {children}
    </State>
  );
}

/** Holds the room that will be taken, so that nothing moves when it is. */
export function Loading({ rows = 4 }: { rows?: number }) {
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-2 p-4">
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} className="h-6 animate-pulse rounded bg-sunken" />
      ))}
    </div>
  );
}

/** The command that leads to a project's page. */
export function Open() {
  return (
    <>
      <code>cmux open</code> in the project (without an organization: <code>cmux agents open</code>)
    </>
  );
}

/** What helps: a place of the page where there is one, else a command. */
export function Try({ way }: { way: string | undefined }) {
  const place = way === undefined ? undefined : wayOf(way);
  if (way === undefined) {
    return null;
  }
  return place === undefined ? (
    <>
      {" "}
      Try <code>{way}</code>
    </>
  ) : (
    <>
      {" "}
      <Link to={place.to} className="text-accent underline">
        {place.label}
      </Link>
    </>
  );
}

/** What went wrong, and what helps where that is known. */
export function Failed({ error, retry }: { error: unknown; retry?: () => void }) {
  const problem = error instanceof Problem ? error : new Problem(-1, error instanceof Error ? error.message : "Something went wrong.");
  const again = retry && <Button onClick={retry}>Try again</Button>;
  if (problem.status === 0) {
    return (
      <State icon={<WifiOff />} title="The server does not answer" action={again}>
        The page connects again by itself. In a terminal, <code>cmux status</code> says more.
      </State>
    );
  }
  if (problem.status === 401 || problem.status === 403) {
    return (
      <State icon={<Lock />} title="You are not logged in here">
        <Open /> logs you in: {problem.message}
      </State>
    );
  }
  return (
    <State icon={<CircleAlert />} title={problem.message} action={again}>
      <Try way={problem.way} />
    </State>
  );
}

interface QueryProps<T> {
  query: Pick<UseQueryResult<T, unknown>, "data" | "error" | "isPending" | "refetch">;
  children: (data: T) => ReactNode;
  loading?: ReactNode;
}

/** The answer of a query, or what there is instead. An answer stays while it is asked again. */
export function Answer<T>({ query, children, loading }: QueryProps<T>) {
  if (query.data !== undefined) {
    return children(query.data);
  }
  if (query.error !== null) {
    return <Failed error={query.error} retry={() => void query.refetch()} />;
  }
  return loading ?? <Loading />;
}
