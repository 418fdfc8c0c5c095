import { Send } from "lucide-react";
import { useState } from "react";

import type { Api } from "@/api/client";
import { visible } from "@/changes/visible";
import { answerOf } from "@/needs/answers";
import { Key } from "@/needs/HeldBar";
import { Button } from "@/ui/button";
import { Field, Input } from "@/ui/field";
import { useSteady } from "@/ui/useSteady";

/** What is said, and the question that it answers; empty: nothing was asked. */
export interface Answer {
  text: string;
  question: string;
}

interface AnswerFormProps {
  of: string; // who asks
  question?: Api<"Question"> | undefined; // missing: only a line to write in
  busy: boolean;
  send: (answer: Answer) => void;
  verb?: string;
  label?: string;
  keys?: boolean; // a digit chooses an option
}

/**
 * A question with its options as buttons and a line to answer in. A question of one part is answered by a click.
 * Another question is another form: what was typed for the one before is not taken for it, nor a click that was
 * already under way when it came.
 */
export function AnswerForm(props: AnswerFormProps) {
  return <Form key={`${props.of} ${props.question?.id ?? ""}`} {...props} />;
}

function mayIt({ tool }: { tool: string }): string {
  return tool === "" ? "May it do this?" : `May it use ${tool}?`;
}

function Form({ of, question, busy, send, verb = "Answer", label = `Answer ${of}`, keys = false }: AnswerFormProps) {
  const permission = question?.permission;
  const parts = question?.parts.length ? question.parts : [{ text: "" }];
  const [said, setSaid] = useState<readonly (string | undefined)[]>([]);
  const answer = answerOf(parts, said);
  const give = (text: string) => send({ text, question: question?.id ?? "" });
  const single = parts.length === 1;
  const settled = useSteady(""); // each question is a form of its own
  const choose = (i: number, option: string) => {
    if (!settled) {
      return;
    }
    if (single) {
      give(option);
    } else {
      put(i, option);
    }
  };
  const put = (i: number, text: string) => setSaid((was) => parts.map((_, k) => (k === i ? text : was[k])));
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={(e) => {
        e.preventDefault();
        if (answer !== undefined) {
          give(answer);
        }
      }}
    >
      {parts.map((part, i) => (
        <fieldset key={i} className="flex min-w-0 flex-col gap-1.5">
          {part.text !== "" && <legend className="mb-1 whitespace-pre-wrap wrap-anywhere">{permission === undefined ? part.text : mayIt(permission)}</legend>}
          {permission !== undefined && (
            <>
              {permission.command !== undefined && (
                <pre tabIndex={0} role="group" aria-label={`What ${of} asks permission for`} className="max-h-72 overflow-auto rounded bg-sunken p-2 whitespace-pre-wrap wrap-anywhere">
                  {visible(permission.command)}
                </pre>
              )}
              <div className="flex flex-wrap gap-1.5">
                <Button tone="accent" busy={busy} aria-disabled={settled ? undefined : true} onClick={() => choose(i, "yes")}>
                  Allow {keys && <Key>a</Key>}
                </Button>
                <Button tone="bad" busy={busy} aria-disabled={settled ? undefined : true} onClick={() => choose(i, "no")}>
                  Deny {keys && <Key>d</Key>}
                </Button>
              </div>
            </>
          )}
          {part.options !== undefined && part.options.length > 0 && (
            <div className="flex flex-wrap gap-1.5">
              {part.options.map((option, k) => (
                <Button
                  key={k}
                  busy={busy}
                  aria-pressed={single ? undefined : said[i] === option}
                  className="h-auto text-left whitespace-normal wrap-anywhere aria-pressed:border-accent aria-pressed:bg-accent-soft"
                  aria-disabled={settled ? undefined : true}
                  onClick={() => choose(i, option)}
                >
                  {option} {keys && single && k < 9 && <Key>{String(k + 1)}</Key>}
                </Button>
              ))}
            </div>
          )}
          <div className="flex items-end gap-1.5">
            <div className="min-w-0 grow">
              <Field label={single ? label : `${label}: ${part.text}`} hidden>
                {(ids) => <Input {...ids} value={said[i] ?? ""} placeholder={permission === undefined ? (part.options?.length ? "Or in your own words" : question === undefined || part.text === "" ? label : "Your answer") : "Or deny it, and say why"} onChange={(e) => put(i, e.target.value)} />}
              </Field>
            </div>
            {i === parts.length - 1 && (
              <Button type="submit" tone="accent" icon={<Send aria-hidden size={15} />} busy={busy} disabled={answer === undefined}>
                {verb}
              </Button>
            )}
          </div>
        </fieldset>
      ))}
    </form>
  );
}
