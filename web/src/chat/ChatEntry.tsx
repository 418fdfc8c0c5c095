import { memo } from "react";
import { Link } from "react-router";

import { visible } from "@/changes/visible";
import { deliveryOf } from "@/chat/delivery";
import { withoutCommands } from "@/chat/letter";
import type { Entry, Mail } from "@/chat/timeline";
import { EntryView } from "@/conversation/EntryView";
import { Label } from "@/ui/label";
import { Markdown } from "@/ui/markdown";
import { Ago } from "@/ui/time";

/** A piece of the time line. */
export const ChatEntry = memo(function ChatEntry({ entry: e, name }: { entry: Entry; name: string }) {
  return e.type === "mail" ? <ChatMessage mail={e.mail} mine={e.mine} name={name} /> : <EntryView entry={e} />;
});

function ChatMessage({ mail: m, mine, name }: { mail: Mail; mine: boolean; name: string }) {
  const delivery = deliveryOf(m);
  const body = withoutCommands(m.body);
  return (
    <div className={`flex px-4 py-1.5 ${mine ? "justify-end" : ""}`}>
      <article className={`max-w-[min(48rem,92%)] min-w-0 rounded-lg border border-line px-3 py-2 ${mine ? "bg-accent-soft" : "bg-surface"}`}>
        <p className="flex flex-wrap items-center gap-2 text-muted">
          <strong className="text-text">{mine ? "You" : m.from}</strong>
          {m.to !== name && <span>to {m.to}</span>}
          {!m.verified && <Label tone="warn">unverified</Label>}
          {m.urgency !== "" && <Label tone="warn">{m.urgency}</Label>}
          {delivery && <Label tone={delivery.tone}>{delivery.word}</Label>}
          <Ago at={m.ts} />
        </p>
        <p className="font-medium wrap-anywhere">{visible(m.subject)}</p>
        {body !== "" && body !== m.subject && <Markdown lines={mine}>{body}</Markdown>}
        {m.task !== "" && (
          <Link to={`/tasks/${encodeURIComponent(m.task)}`} className="text-accent underline">
            {`Open ${m.task}`}
          </Link>
        )}
        {delivery?.why !== undefined && <p className="text-muted wrap-anywhere">{delivery.why}</p>}
      </article>
    </div>
  );
}
