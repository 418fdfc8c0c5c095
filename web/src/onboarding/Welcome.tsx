import { CircleDot, FileText, ListTodo, PenLine, PlayCircle, Users, type LucideIcon } from "lucide-react";
import { Link } from "react-router";

import { StartOrganization } from "@/agents/OrganizationOrders";
import { FirstCommit } from "@/onboarding/FirstCommit";
import { Missing } from "@/onboarding/Missing";
import { isNew, useOnboarding } from "@/onboarding/useOnboarding";

const ways: readonly { begin: string; icon: LucideIcon; title: string; about: string }[] = [
  { begin: "tasks", icon: ListTodo, title: "Say what should be done", about: "Name the tasks in a sentence or a list. cmux draws the graph." },
  { begin: "template", icon: FileText, title: "Use a template", about: "One task: with a review, a plan that you approve, or two agents." },
  { begin: "hand", icon: PenLine, title: "Write it by hand", about: "Commands, agents and gates, in an editor that draws the graph." },
  { begin: "issues", icon: CircleDot, title: "Take open issues", about: "An agent for each issue that you choose on GitHub." },
  { begin: "demo", icon: PlayCircle, title: "Look at the demo", about: "Commands alone: a failure to retry and a gate to approve. Costs nothing." },
];

/** The ways to a first graph, as links. */
export function Ways() {
  return (
    <ul className="grid w-full gap-3 sm:grid-cols-2">
      {ways.map((w) => (
        <li key={w.begin} className="sm:last:odd:col-span-2">
          <Link to={`/config/agents?begin=${w.begin}`} className="flex h-full items-start gap-3 rounded-lg border border-line-strong bg-surface p-3 text-left hover:bg-sunken">
            <w.icon aria-hidden size={20} className="mt-0.5 shrink-0 text-accent" />
            <span>
              <strong className="block">{w.title}</strong>
              <span className="text-muted">{w.about}</span>
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** What a project without runs and organization can begin with; for any other nothing. */
export default function Welcome() {
  const known = useOnboarding().data;
  if (known === undefined || !isNew(known)) {
    return null;
  }
  const done = (id: string) => known.steps.some((s) => s.id === id && s.done);
  return (
    <div className="mx-auto flex w-full max-w-3xl flex-col gap-4 p-4">
      <h2 className="text-title font-semibold">Begin here</h2>
      <FirstCommit />
      <Missing />
      {done("graph") ? (
        <p>
          A graph is written. <Link to="/config/agents" className="text-accent underline">Look at it and start a run</Link>, or begin with another one:
        </p>
      ) : (
        <p className="text-muted">A run carries out a graph of tasks. Each agent works in a worktree of its own; you see and decide everything here.</p>
      )}
      <Ways />
      <section aria-label="Organization" className="flex items-start gap-3 rounded-lg border border-line bg-surface p-3">
        <Users aria-hidden size={20} className="mt-0.5 shrink-0 text-accent" />
        <div className="min-w-0">
          <strong className="block">Talk to a supervisor</strong>
          <p className="mb-2 text-muted">A supervisor and workers that stay, take tasks and messages, and outlive a run.</p>
          <StartOrganization />
        </div>
      </section>
    </div>
  );
}
