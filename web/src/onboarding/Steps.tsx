import { Link } from "react-router";

import type { Api } from "@/api/client";
import { StartOrganization } from "@/agents/OrganizationOrders";
import { FirstCommitButton } from "@/onboarding/FirstCommit";
import { TerminalCommand } from "@/onboarding/Missing";
import { useOnboarding } from "@/onboarding/useOnboarding";
import { Label } from "@/ui/label";
import { Answer } from "@/ui/states";

/** Where in the page a step can be done. */
const places: Readonly<Partial<Record<Api<"OnboardingStep">["id"], readonly [to: string, text: string]>>> = {
  tools: ["/health?tab=doctor", "See what the doctor says"],
  graph: ["/config/agents", "Write a graph"],
  run: ["/config/agents", "Start a run"],
  config: ["/settings", "Apply it in the settings"],
  task: ["/tasks", "Add a task"],
};

/** What only a terminal does. */
const terminal: readonly string[] = ["tools", "agent"] satisfies Api<"OnboardingStep">["id"][];

export function Steps() {
  const onboarding = useOnboarding();
  return (
    <Answer query={onboarding}>
      {({ steps, done }) => (
        <>
          {done && <p className="mb-3">Everything that agents need is there.</p>}
          <ol className="flex flex-col gap-2">
            {steps.map((s) => {
              const place = places[s.id];
              return (
                <li key={s.id} className="flex flex-wrap items-baseline gap-2 rounded-lg border border-line bg-surface p-3">
                  <Label tone={s.done ? "ok" : s.optional ? "muted" : "warn"}>{s.done ? "done" : s.optional ? "optional" : "to do"}</Label>
                  <strong>{s.title}</strong>
                  <span className="min-w-0 grow text-muted wrap-anywhere">{s.detail}</span>
                  {!s.done && s.try !== "" && terminal.includes(s.id) && <TerminalCommand>{s.try}</TerminalCommand>}
                  {!s.done && s.id === "organization" && <StartOrganization />}
                  {s.id === "commit" && <FirstCommitButton />}
                  {!s.done && place && (
                    <Link to={place[0]} className="text-accent underline">
                      {place[1]}
                    </Link>
                  )}
                </li>
              );
            })}
          </ol>
        </>
      )}
    </Answer>
  );
}
