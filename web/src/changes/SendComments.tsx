import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Api } from "@/api/client";
import { forgetDrafts, useDrafts } from "@/changes/drafts";
import { sendComments, type WorkSource } from "@/changes/source";
import { visible } from "@/changes/visible";
import { CommentNote } from "@/changes/CommentEditor";
import { askAgain } from "@/needs/held";
import { Key } from "@/needs/HeldBar";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Textarea } from "@/ui/field";
import { count } from "@/ui/figures";
import { useOrder } from "@/ui/toasts";

/** Collects what is said about changes, and sends all of it as one message. */
export function SendComments({ source }: { source: WorkSource }) {
  const on = useDrafts(source);
  const [open, setOpen] = useState(false);
  const [text, setText] = useState("");
  const [downstream, setDownstream] = useState(false);
  const client = useQueryClient();
  const send = useOrder((body: Api<"Comments">) => sendComments(source, body), said);
  const give = () =>
    send.mutate(
      { ...(text.trim() === "" ? {} : { text: text.trim() }), on: on.map((d) => d.comment), ...(downstream ? { downstream } : {}) },
      {
        onSuccess: () => {
          forgetDrafts(source, on);
          setText("");
          setOpen(false);
          void askAgain(client);
        },
      },
    );
  return (
    <>
      <Button data-send-back tone={on.length > 0 ? "accent" : "plain"} onClick={() => setOpen(true)}>
        {on.length > 0 ? `Send ${count(on.length, "comment")}` : "Send back"} <Key>r</Key>
      </Button>
      <Dialog title="Send comments to the agent" description="The agent reads all of this as one message. Work that is done begins again." open={open} onOpenChange={setOpen} wide>
        <ul className="mb-3 flex flex-col">
          {on.map((d) => (
            <li key={d.id}>
              <p className="font-mono text-code text-muted wrap-anywhere">
                {visible(d.comment.path)}
                {d.comment.line !== undefined && `:${d.comment.line}`}
                {d.comment.to !== undefined && `-${d.comment.to}`}
              </p>
              <CommentNote comment={d.comment} onRemove={() => forgetDrafts(source, [d])} />
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
              What was built on it runs again as well
            </label>
          )}
          <div className="flex justify-end gap-2">
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button type="submit" tone="accent" busy={send.isPending} disabled={on.length === 0 && text.trim() === ""}>
              Send as one message
            </Button>
          </div>
        </form>
      </Dialog>
    </>
  );
}

function said({ how, note, task }: Api<"Commented">): string {
  const what = how === "told" ? "The agent was told." : how === "sent back" ? "The work was sent back." : `A new task has the comments${task ? `: ${task.title}` : ""}.`;
  return note === undefined || note === "" ? what : `${what} ${note}`;
}
