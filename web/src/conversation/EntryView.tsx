import { clsx } from "clsx";
import { Brain, CircleAlert, CircleCheck, CircleHelp, Info, MessageSquare, User, Wrench } from "lucide-react";
import type { ReactNode } from "react";

import { visible } from "@/changes/visible";
import { CallView } from "@/conversation/CallView";
import type { Entry } from "@/conversation/group";
import { Output } from "@/conversation/Output";
import { tookText } from "@/node/words";
import { count } from "@/ui/figures";
import { Markdown } from "@/ui/markdown";
import { Ago } from "@/ui/time";

/** One entry of a conversation. */
export function EntryView({ entry: e }: { entry: Entry }) {
  switch (e.type) {
    case "attempt":
      return (
        <div className="flex items-center gap-3 px-4 py-2 text-muted">
          <span className="h-px grow bg-line" />
          {`Attempt ${e.attempt}`}
          <span className="h-px grow bg-line" />
        </div>
      );
    case "told":
      return (
        <Block icon={<User size={16} />} who="To the agent" at={e.at} soft>
          <Long text={e.text} />
        </Block>
      );
    case "text":
      return (
        <Block icon={<MessageSquare size={16} />} who="Agent" at={e.at}>
          <Markdown>{e.text}</Markdown>
        </Block>
      );
    case "thoughts":
      return (
        <Block icon={<Brain size={16} />} who="Thoughts" at={e.at}>
          <div className="text-muted italic">
            {e.texts.map((t, i) => (
              <Markdown key={i}>{t}</Markdown>
            ))}
          </div>
        </Block>
      );
    case "calls":
      return (
        <Block icon={<Wrench size={16} />} who={count(e.calls.length, "tool call")} at={e.at}>
          <ul className="flex flex-col gap-1">
            {e.calls.map((c) => (
              <li key={c.key}>
                <CallView call={c} />
              </li>
            ))}
          </ul>
        </Block>
      );
    case "question":
      return (
        <Block icon={<CircleHelp size={16} className="text-warn" />} who="Question" at={e.at} soft>
          <Markdown lines>{e.text}</Markdown>
        </Block>
      );
    case "answer":
      return (
        <Block icon={<User size={16} />} who="Answer" at={e.at} soft>
          <Markdown lines>{e.text}</Markdown>
        </Block>
      );
    case "report":
      return (
        <Block icon={e.state === "blocked" ? <CircleAlert size={16} className="text-bad" /> : <CircleCheck size={16} className="text-ok" />} who={`Report: ${e.state}`} at={e.at} soft>
          <Markdown>{e.text}</Markdown>
        </Block>
      );
    case "check":
      return (
        <Block icon={e.passed ? <CircleCheck size={16} className="text-ok" /> : <CircleAlert size={16} className="text-bad" />} who={e.passed ? "Check passed" : "Check failed"} at={e.at}>
          <code className="wrap-anywhere">{e.command}</code>
          {e.took !== "" && <span className="text-muted">{` in ${tookText(e.took)}`}</span>}
          {e.text !== "" && <Output text={e.text} open={!e.passed} />}
        </Block>
      );
    case "event":
      return (
        <div className={clsx("flex items-baseline gap-2 px-4 py-0.5", e.bad ? "text-bad" : "text-muted")}>
          <Info aria-hidden size={14} className="shrink-0 self-center" />
          <p className="min-w-0 grow wrap-anywhere">
            {e.title}
            {e.text !== "" && `: ${visible(e.text)}`}
          </p>
          <Ago at={e.at} className="text-muted" />
        </div>
      );
  }
}

function Block({ icon, who, at, soft = false, children }: { icon: ReactNode; who: string; at: string; soft?: boolean; children: ReactNode }) {
  return (
    <article aria-label={who} className={clsx("mx-2 my-1 rounded-md px-2 py-1.5", soft && "border border-line bg-surface")}>
      <header className="flex items-center gap-2 text-muted">
        <span aria-hidden>{icon}</span>
        <span className="grow font-medium">{who}</span>
        <Ago at={at} />
      </header>
      <div className="pl-6">{children}</div>
    </article>
  );
}

const long = 600;

/** A text that may be a whole prompt: its beginning, and the rest when it is asked for. */
function Long({ text }: { text: string }) {
  if (text.length <= long) {
    return <Markdown lines>{text}</Markdown>;
  }
  return (
    <details>
      <summary className="text-muted">{`${visible(text.slice(0, 200).trim())} … (${count(text.length, "character")})`}</summary>
      <pre className="whitespace-pre-wrap wrap-anywhere">{visible(text)}</pre>
    </details>
  );
}
