import { CircleAlert, CircleCheck } from "lucide-react";
import type { ReactNode } from "react";

import type { Api } from "@/api/client";
import { Output } from "@/conversation/Output";
import { took, tookText } from "@/node/words";

/** A part of a case with its name. One that fills takes the room that the others leave. */
export function Part({ title, actions, fills = false, children }: { title: string; actions?: ReactNode; fills?: boolean; children: ReactNode }) {
  return (
    <section aria-label={title} className={`flex flex-col gap-1.5 ${fills ? "grow" : ""}`}>
      <header className="flex flex-wrap items-center gap-2">
        <h3 className="grow font-semibold">{title}</h3>
        {actions}
      </header>
      {children}
    </section>
  );
}

export function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <span className="whitespace-nowrap">
      <span className="text-muted">{`${name} `}</span>
      <span className="tabular-nums">{children}</span>
    </span>
  );
}

/** Whether a check passed, and how long it took. */
export function CheckState({ command, passed, end }: { command: string; passed: boolean; end: string }) {
  const Icon = passed ? CircleCheck : CircleAlert;
  return (
    <span className="flex items-start gap-2">
      <Icon aria-hidden size={16} className={`mt-0.5 shrink-0 ${passed ? "text-ok" : "text-bad"}`} />
      <code className="min-w-0 grow wrap-anywhere">{command}</code>
      <span className="shrink-0 text-muted">{end}</span>
    </span>
  );
}

export function passed(c: Api<"RunCheck">): boolean {
  return c.exit === 0 && c.timed_out !== true;
}

/** A check of an attempt, with its output where it failed. */
export function CheckLine({ check: c }: { check: Api<"RunCheck"> }) {
  const good = passed(c);
  return (
    <div>
      <CheckState command={c.command} passed={good} end={`${good ? "passed" : c.timed_out === true ? "timed out" : `exit ${c.exit}`}, ${tookText(c.took)}`} />
      {!good && c.output !== undefined && c.output !== "" && <Output text={c.output} open label="End of its output" />}
    </div>
  );
}

/** A check of finished work. */
export function DeliveredCheck({ check: c }: { check: Api<"DeliveredCheck"> }) {
  return <CheckState command={c.command} passed={c.passed} end={`${c.passed ? "passed" : "failed"}, ${took(c.took)}`} />;
}
