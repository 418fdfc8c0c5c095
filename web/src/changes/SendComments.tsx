import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Api } from "@/api/client";
import { CommentNote } from "@/changes/CommentEditor";
import { changeDraft, discard, finishTyped, forgetDrafts, useDrafts, useUnsent } from "@/changes/drafts";
import { sendComments, type WorkSource } from "@/changes/source";
import { visible } from "@/changes/visible";
import { askAgain } from "@/needs/held";
import { Key } from "@/needs/HeldBar";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Textarea } from "@/ui/field";
import { count } from "@/ui/figures";
import { useOrder } from "@/ui/toasts";

/** What the button says that sends so many comments. */
export function sendLabel(n: number): string {
  return n > 0 ? `Send back with ${count(n, "comment")}` : "Send back";
}

/** A button that sends all that is said about changes. */
export function SendComments({ source }: { source: WorkSource }) {
  const { drafts, typed } = useUnsent(source);
  const [open, setOpen] = useState(false);
  const n = drafts.length + typed.length;
  return (
    <>
      <Button
        data-send-back
        tone={n > 0 ? "accent" : "plain"}
        onClick={() => {
          finishTyped(source); // what is being typed goes along
          setOpen(true);
        }}
      >
        {sendLabel(n)} <Key>r</Key>
      </Button>
      <SendDialog source={source} open={open} onOpenChange={setOpen} />
    </>
  );
}

interface SendDialogProps {
  source: WorkSource;
  open: boolean;
  onOpenChange: (open: boolean) => void;
  reviewers?: readonly string[]; // nodes that reviewed the work
}

/** Collects what is said about changes, and sends all of it as one message. */
export function SendDialog({ source, open, onOpenChange, reviewers = [] }: SendDialogProps) {
  const on = useDrafts(source);
  const [text, setText] = useState("");
  const [downstream, setDownstream] = useState(false);
  const client = useQueryClient();
  const send = useOrder((body: Api<"Comments">) => sendComments(source, body), said);
  const give = () =>
    send.mutate(
      { ...(text.trim() === "" ? {} : { text: text.trim() }), on: on.map((d) => d.comment), ...(downstream ? { downstream } : {}) },
      {
        onSuccess: () => {
          discard(source, { drafts: on, typed: [] });
          setText("");
          onOpenChange(false);
          void askAgain(client);
        },
      },
    );
  return (
    <Dialog title="Send back with comments" description="The agent reads all of this as one message, in its conversation. Work that is done continues from where it is." open={open} onOpenChange={onOpenChange} wide>
      <ul className="mb-3 flex flex-col">
        {on.map((d) => (
          <li key={d.id}>
            <p className="font-mono text-code text-muted wrap-anywhere">
              {visible(d.comment.path)}
              {d.comment.line !== undefined && `:${d.comment.line}`}
              {d.comment.to !== undefined && `-${d.comment.to}`}
            </p>
            <CommentNote comment={d.comment} onChange={(to) => changeDraft(source, d.id, to)} onRemove={() => forgetDrafts(source, [d])} />
          </li>
        ))}
      </ul>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          give();
        }}
      >
        <Field label="About all of it">{(ids) => <Textarea {...ids} value={text} onChange={(e) => setText(e.target.value)} />}</Field>
        {source.kind === "node" && (
          <label className="flex items-center gap-2">
            <input type="checkbox" checked={downstream} onChange={(e) => setDownstream(e.target.checked)} />
            {`What was built on it runs again as well${reviewers.length === 0 ? "" : `, so ${reviewers.join(" and ")} will read it again`}`}
          </label>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={() => onOpenChange(false)}>Cancel</Button>
          <Button type="submit" tone="accent" busy={send.isPending} disabled={on.length === 0 && text.trim() === ""}>
            Send as one message
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function said({ how, note, task }: Api<"Commented">): string {
  const what = how === "told" ? "The agent was told." : how === "sent back" ? "The work was sent back." : `A new task has the comments${task ? `: ${task.title}` : ""}.`;
  return note === undefined || note === "" ? what : `${what} ${note}`;
}
