import { Send } from "lucide-react";
import { useState } from "react";
import { Link } from "react-router";

import { called, type Agent } from "@/agents/agents";
import { give } from "@/agents/give";
import { api, type Api } from "@/api/client";
import { usePrefs } from "@/app/prefs";
import { sends, useDraft } from "@/chat/draft";
import { letterOf } from "@/chat/letter";
import { Button } from "@/ui/button";
import { Field, Select, Textarea } from "@/ui/field";
import { useOrder } from "@/ui/toasts";

type Way = "send" | "urgent" | "interrupt" | "answer";

const ways: readonly (readonly [Way, string])[] = [
  ["send", "Hand it over when it is at rest"],
  ["urgent", "Hand it over with its next tool call (urgent)"],
  ["interrupt", "Hand it over now: break its turn off (interrupt)"],
];

/** A message to an agent, and when it is handed over. Enter or Ctrl+Enter sends it, as the settings say. */
export function ChatInput({ agent, onSent }: { agent: Agent; onSent?: () => void }) {
  const [text, setText] = useDraft(agent.name);
  const enterSends = usePrefs((p) => p.enterSends);
  const dialog = agent.question?.in_pane === true; // only keys answer it
  const asks = agent.state === "needs input" && !dialog;
  const asked = asks ? (agent.question?.id ?? "") : "";
  // What is typed stays what it was begun as: a remark does not become the answer to a question that comes meanwhile.
  const [begun, begin] = useState<{ way: Way; question: string }>();
  const { way, question } = begun ?? { way: asks ? "answer" : "send", question: asked };
  const write = (said: string) => {
    setText(said);
    if (said.trim() === "" && begun?.way !== "urgent" && begun?.way !== "interrupt") {
      begin(undefined);
    } else if (begun === undefined) {
      begin({ way, question });
    }
  };
  const send = useOrder(
    async ({ text, way, question }: { text: string; way: Way; question: string }) => {
      if (way === "answer") {
        return give.answer({ name: agent.name, text, question });
      }
      const urgency: { urgency?: NonNullable<Api<"Letter">["urgency"]> } = way === "send" ? {} : { urgency: way };
      return api.POST("/api/messages", { body: { to: agent.name, ...letterOf(text), ...urgency } });
    },
  );
  const submit = () => {
    if (text.trim() !== "" && !send.isPending) {
      send.mutate(
        { text, way, question },
        {
          onSuccess: () => {
            setText("");
            begin(undefined);
            onSent?.();
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
            placeholder={`Message to ${called(agent)} (${enterSends ? "Enter sends, Shift+Enter breaks the line" : "Ctrl+Enter sends"})`}
            value={text}
            onChange={(e) => write(e.target.value)}
            onKeyDown={(e) => {
              if (sends(e.nativeEvent, enterSends) === true) {
                e.preventDefault();
                submit();
              }
            }}
          />
        )}
      </Field>
      {begun !== undefined && asked !== question && (way === "answer" || asked !== "") && (
        <div role="status" className="flex flex-wrap items-center gap-2 text-warn">
          <p className="min-w-0 grow wrap-anywhere">{asked === "" ? "It does not ask that any more." : `It asks something else by now: ${agent.question?.parts.map((p) => p.text).join(" ") ?? ""}`}</p>
          {asked !== "" && <Button onClick={() => begin({ way: "answer", question: asked })}>Answer that</Button>}
        </div>
      )}
      {dialog && (
        <p className="text-warn">
          {`${called(agent)} shows a dialog, which only keys in `}
          <Link to={`/agents/${encodeURIComponent(agent.name)}?tab=terminal`} state={{ take: true }} className="text-accent underline">
            its terminal
          </Link>
          {" answer. What you write here waits."}
        </p>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <div className="min-w-0 grow basis-40">
          <Field label="When it is handed over" hidden>
            {(ids) => <Select {...ids} className="max-w-80" options={asks || way === "answer" ? [["answer", "As the answer to its question"] as const, ...ways] : ways} value={way} onChange={(e) => begin({ way: e.target.value as Way, question: asked })} />}
          </Field>
        </div>
        <Button type="submit" tone="accent" icon={<Send aria-hidden size={15} />} busy={send.isPending} disabled={text.trim() === ""}>
          {way === "answer" ? "Answer" : "Send"}
        </Button>
      </div>
    </form>
  );
}
