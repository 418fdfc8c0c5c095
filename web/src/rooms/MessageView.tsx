import { FileText, Reply } from "lucide-react";

import { AttachedFiles } from "@/rooms/Attached";
import { Marked } from "@/rooms/Marked";
import { calledBy, type Message } from "@/rooms/rooms";
import { IconButton } from "@/ui/button";
import { Label } from "@/ui/label";
import { Ago } from "@/ui/time";

/** What can be done with a message. */
export interface MessageDeeds {
  room: string; // whose message it is
  reply: ((m: Message) => void) | undefined; // undefined: nothing can be written now
  show: (n: number) => void; // a message, by its number
  prompt: (turn: string, member: string) => void;
}

/** A message: who said it when, to whom and as an answer to what. */
export function MessageView({ message: m, deeds, wide = false }: { message: Message; deeds: MessageDeeds; wide?: boolean }) {
  const mine = m.by === "user";
  const by = calledBy(m.by);
  return (
    <div className={`flex ${wide ? "h-full" : "px-4 py-1.5"} ${mine ? "justify-end" : ""}`}>
      <article aria-label={`Message ${m.n} of ${by}`} className={`${wide ? "w-full" : "max-w-[min(52rem,94%)]"} min-w-0 rounded-lg border border-line px-3 py-2 ${mine ? "bg-accent-soft" : "bg-surface"}`}>
        <header className="flex flex-wrap items-center gap-x-2 gap-y-0.5 text-muted">
          <strong className="text-text wrap-anywhere">{by}</strong>
          {m.to !== "" && <Label tone="info">{m.to === "user" ? "to you alone" : `to ${m.to} alone`}</Label>}
          <span>{`#${m.n}`}</span>
          {m.re > 0 && !wide && (
            <button type="button" className="text-accent underline" onClick={() => deeds.show(m.re)}>{`answers #${m.re}`}</button>
          )}
          <Ago at={m.at} />
          <span className="ml-auto flex">
            {m.turn !== "" && (
              <IconButton label={`Show the prompt of turn ${m.turn}`} className="min-h-6 text-muted" onClick={() => deeds.prompt(m.turn, m.by)}>
                <FileText aria-hidden size={14} />
              </IconButton>
            )}
            {deeds.reply !== undefined && (
              <IconButton label={`Answer message ${m.n}`} className="min-h-6 text-muted" onClick={() => deeds.reply?.(m)}>
                <Reply aria-hidden size={14} />
              </IconButton>
            )}
          </span>
        </header>
        <AttachedFiles room={deeds.room} files={m.files} />
        {m.text !== "" && <Marked pieces={m.pieces} lines={mine} />}
        {m.aside !== "" && (
          <details className={m.text === "" ? "" : "mt-1 border-t border-line pt-1"}>
            <summary className="min-h-6 text-muted">For you alone</summary>
            <Marked pieces={m.aside_pieces} />
          </details>
        )}
      </article>
    </div>
  );
}
