import { Brain, Wrench } from "lucide-react";
import { memo, useState, type ReactNode } from "react";

import { inputLine, type Call, type Entry } from "@/chat/timeline";
import { deliveryOf } from "@/chat/delivery";
import { count } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Markdown } from "@/ui/markdown";
import { Ago } from "@/ui/time";

/** A piece of the time line. */
export const ChatEntry = memo(function ChatEntry({ entry: e, name }: { entry: Entry; name: string }) {
  switch (e.kind) {
    case "mail": {
      const delivery = deliveryOf(e.mail);
      return (
        <Bubble mine={e.mine}>
          <p className="flex flex-wrap items-center gap-2 text-muted">
            <strong className="text-text">{e.mine ? "You" : e.mail.from}</strong>
            {e.mail.to !== name && <span>to {e.mail.to}</span>}
            {!e.mail.verified && <Label tone="warn">unverified</Label>}
            {e.mail.urgency !== "" && <Label tone="warn">{e.mail.urgency}</Label>}
            {delivery && <Label tone={delivery.tone}>{delivery.word}</Label>}
            <Ago at={e.at} />
          </p>
          <p className="font-medium wrap-anywhere">{e.mail.subject}</p>
          {e.mail.body !== "" && e.mail.body !== e.mail.subject && <Markdown>{e.mail.body}</Markdown>}
          {delivery?.why !== undefined && <p className="text-muted wrap-anywhere">{delivery.why}</p>}
        </Bubble>
      );
    }
    case "text":
      return e.by === "agent" ? (
        <Bubble mine={false}>
          <p className="flex items-center gap-2 text-muted">
            <strong className="text-text">{name}</strong>
            <Ago at={e.at} />
          </p>
          <Markdown>{e.text}</Markdown>
          {e.cut > 0 && <p className="text-muted">{count(e.cut, "byte")} more are not shown.</p>}
        </Bubble>
      ) : (
        <Fold icon={null} title="What it was told" at={e.at}>
          <Markdown>{e.text}</Markdown>
        </Fold>
      );
    case "thoughts":
      return (
        <Fold icon={<Brain aria-hidden size={15} />} title={e.texts.length === 1 ? firstLine(e.texts[0] ?? "") : `${count(e.texts.length, "thought")}: ${firstLine(e.texts.at(-1) ?? "")}`} at={e.at}>
          {e.texts.map((t, i) => (
            <Markdown key={i}>{t}</Markdown>
          ))}
        </Fold>
      );
    case "calls":
      return <Calls calls={e.calls} at={e.at} />;
    case "note":
      return (
        <div className="flex flex-wrap items-baseline gap-2 px-4 py-1 text-muted">
          <strong>{e.word}</strong>
          <span className="line-clamp-6 min-w-0 wrap-anywhere whitespace-pre-wrap">{e.text}</span>
          <Ago at={e.at} />
        </div>
      );
  }
});

function Bubble({ mine, children }: { mine: boolean; children: ReactNode }) {
  return (
    <div className={`flex px-3 py-1.5 ${mine ? "justify-end" : ""}`}>
      <article className={`max-w-[min(48rem,92%)] min-w-0 rounded-lg border border-line px-3 py-2 ${mine ? "bg-accent-soft" : "bg-surface"}`}>{children}</article>
    </div>
  );
}

function Fold({ icon, title, at, children }: { icon: ReactNode; title: string; at: string; children: ReactNode }) {
  const [open, setOpen] = useState(false);
  return (
    <div className="px-3 py-0.5">
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)} className="flex w-full min-w-0 items-center gap-2 rounded-md px-1 py-0.5 text-left text-muted hover:bg-sunken">
        {icon}
        <span className="min-w-0 grow truncate">{title}</span>
        <Ago at={at} />
      </button>
      {open && <div className="ml-2 border-l-2 border-line pl-3">{children}</div>}
    </div>
  );
}

function Calls({ calls, at }: { calls: readonly Call[]; at: string }) {
  const last = calls.at(-1);
  const failed = calls.filter((c) => c.failed).length;
  const title = calls.length === 1 && last ? `${last.tool} ${inputLine(last.input)}` : `${count(calls.length, "tool call")}: ${[...new Set(calls.map((c) => c.tool))].join(", ")}`;
  return (
    <Fold icon={<Wrench aria-hidden size={15} />} title={failed === 0 ? title : `${title} (${failed} failed)`} at={at}>
      <ul className="flex flex-col gap-1 py-1">
        {calls.map((c) => (
          <li key={c.seq} className="min-w-0">
            <p className="wrap-anywhere">
              <strong>{c.tool}</strong> <code>{inputLine(c.input)}</code> {c.failed && <Label tone="bad">failed</Label>}
              {c.result === undefined && <Label tone="info">at work</Label>}
            </p>
            {c.result !== undefined && c.result !== "" && (
              <pre tabIndex={0} className="max-h-60 overflow-auto rounded bg-sunken p-2 whitespace-pre-wrap wrap-anywhere">
                {c.result}
              </pre>
            )}
          </li>
        ))}
      </ul>
    </Fold>
  );
}

function firstLine(text: string): string {
  return text.trimStart().split("\n", 1)[0] ?? "";
}
