import { Send } from "lucide-react";
import { useState } from "react";

import { called, type Agent } from "@/agents/agents";
import { give } from "@/agents/give";
import { api, type Api } from "@/api/client";
import { letterOf } from "@/chat/letter";
import { Button } from "@/ui/button";
import { Field, Select, Textarea } from "@/ui/field";
import { useOrder } from "@/ui/toasts";

type Way = "send" | "urgent" | "interrupt" | "answer";

const ways: readonly (readonly [Way, string])[] = [
  ["send", "When it is at rest"],
  ["urgent", "With its next tool call (urgent)"],
  ["interrupt", "Now: break its turn off (interrupt)"],
];

/** A message to an agent, and when it is handed over. Ctrl+Enter sends it. */
export function ChatInput({ agent }: { agent: Agent }) {
  const [text, setText] = useState("");
  const asks = agent.state === "needs input";
  const [chosen, choose] = useState<Way>();
  const way = chosen ?? (asks ? "answer" : "send");
  const send = useOrder(
    async ({ text, way }: { text: string; way: Way }) => {
      if (way === "answer") {
        return give.answer({ name: agent.name, text });
      }
      const urgency: { urgency?: NonNullable<Api<"Letter">["urgency"]> } = way === "send" ? {} : { urgency: way };
      return api.POST("/api/messages", { body: { to: agent.name, ...letterOf(text), ...urgency } });
    },
  );
  const submit = () => {
    if (text.trim() !== "" && !send.isPending) {
      send.mutate(
        { text, way },
        {
          onSuccess: () => {
            setText("");
            choose(undefined);
          },
        },
      );
    }
  };
  return (
    <form
      className="flex shrink-0 flex-col gap-2 border-t border-line bg-surface p-3"
      onSubmit={(e) => {
        e.preventDefault();
        submit();
      }}
    >
      <Field label={`Message to ${called(agent)}`} hidden>
        {(ids) => (
          <Textarea
            {...ids}
            className="min-h-16"
            placeholder={`Message to ${called(agent)}`}
            value={text}
            onChange={(e) => setText(e.target.value)}
            onKeyDown={(e) => {
              if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
                e.preventDefault();
                submit();
              }
            }}
          />
        )}
      </Field>
      <div className="flex flex-wrap items-center gap-2">
        <div className="min-w-0 grow">
          <Field label="When it is handed over" hidden>
            {(ids) => <Select {...ids} className="max-w-80" options={asks ? [["answer", "As the answer to its question"] as const, ...ways] : ways} value={way} onChange={(e) => choose(e.target.value as Way)} />}
          </Field>
        </div>
        <Button type="submit" tone="accent" icon={<Send aria-hidden size={15} />} busy={send.isPending} disabled={text.trim() === ""}>
          {way === "answer" ? "Answer" : "Send"}
        </Button>
      </div>
    </form>
  );
}
