import { useState } from "react";

import { hooks } from "@/api/client";
import { visible } from "@/changes/visible";
import { Field, Select } from "@/ui/field";
import { count } from "@/ui/figures";
import { Panel } from "@/ui/page";
import { Answer } from "@/ui/states";

/** What an attempt was told first. */
export function PromptView({ run, node, attempts }: { run: string; node: string; attempts: number }) {
  const [attempt, setAttempt] = useState(0);
  const prompt = hooks.useQuery("get", "/api/runs/{id}/nodes/{node}/prompt", { params: { path: { id: run, node }, query: { attempt } } });
  return (
    <div className="flex flex-col gap-3 p-3">
      {attempts > 1 && (
        <div className="wide-48">
          <Field label="Attempt">
            {(ids) => (
              <Select
                {...ids}
                value={attempt}
                onChange={(e) => setAttempt(Number(e.target.value))}
                options={[["0", "The newest"] as const, ...Array.from({ length: attempts }, (_, i) => [String(attempts - i), `Attempt ${attempts - i}`] as const)]}
              />
            )}
          </Field>
        </div>
      )}
      <Answer query={prompt}>
        {(p) => (
          <>
            <Panel title="Task">
              <pre className="whitespace-pre-wrap wrap-anywhere">{visible(p.task)}</pre>
            </Panel>
            <Panel title={p.attempt > 0 ? `Prompt of attempt ${p.attempt}` : "Prompt"}>
              {p.text === "" ? <p className="text-muted">It was not told anything yet.</p> : <pre className="whitespace-pre-wrap wrap-anywhere">{visible(p.text)}</pre>}
              {p.cut > 0 && <p className="text-muted">{`${count(p.cut, "byte")} at its end are not shown.`}</p>}
            </Panel>
          </>
        )}
      </Answer>
    </div>
  );
}
