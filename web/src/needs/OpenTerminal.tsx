import { SquareTerminal } from "lucide-react";
import { Link } from "react-router";

import type { Api } from "@/api/client";
import { terminalOf } from "@/needs/answers";

/** The way to the terminal of a need, where the person types at once. It is the first thing to do where nothing else answers. */
export function OpenTerminal({ need }: { need: Api<"Need"> }) {
  const to = terminalOf(need);
  if (to === undefined) {
    return null;
  }
  const look = need.orders?.[0] === "terminal" || need.question?.in_pane === true ? "border-accent bg-accent text-on-accent hover:opacity-90" : "border-line-strong hover:bg-sunken";
  return (
    <Link to={to} state={{ take: true }} className={`inline-flex min-h-8 items-center gap-1.5 rounded-md border px-2.5 py-1 font-medium ${look}`}>
      <SquareTerminal aria-hidden size={15} />
      Open terminal
    </Link>
  );
}
