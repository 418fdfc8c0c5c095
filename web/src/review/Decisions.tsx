import { useState } from "react";

import { discard, finishTyped, useUnsent, type Unsent } from "@/changes/drafts";
import { SendDialog, sendLabel } from "@/changes/SendComments";
import type { WorkSource } from "@/changes/source";
import type { Action } from "@/needs/actions";
import { Key } from "@/needs/HeldBar";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { count } from "@/ui/figures";

interface DecisionsProps {
  source: WorkSource;
  actions: readonly Action[];
  reads: boolean; // its agent reads a comment, so the work can be sent back
  reviewers: readonly string[]; // nodes that reviewed it
  of?: string; // whose work it is, in the names of the buttons
  give: (a: Action) => void;
}

/** The decisions about a work beside each other. Comments that were not sent are not lost by one. */
export function Decisions({ source, actions, reads, reviewers, of, give }: DecisionsProps) {
  const unsent = useUnsent(source);
  const [sending, setSending] = useState(false);
  const [asked, ask] = useState<Action>();
  const sendBack = () => {
    ask(undefined);
    finishTyped(source); // what is being typed goes along
    setSending(true);
  };
  const n = unsent.drafts.length + unsent.typed.length;
  const button = (a: Action) => (
    <Button key={a.id} data-decision={a.id} tone={a.tone === "accent" && reads && n > 0 ? "plain" : a.tone} title={a.about} {...(of === undefined ? {} : { "aria-label": `${a.label} ${of}` })} onClick={() => (n > 0 ? ask(a) : give(a))}>
      {a.label} <Key>{a.key}</Key>
    </Button>
  );
  return (
    <>
      {actions.filter((a) => a.tone === "accent").map(button)}
      {reads && (
        <Button data-send-back tone={n > 0 ? "accent" : "plain"} title="The agent continues the work with your comments." onClick={sendBack}>
          {sendLabel(n)} <Key>r</Key>
        </Button>
      )}
      {actions.filter((a) => a.tone !== "accent").map(button)}
      <SendDialog source={source} open={sending} onOpenChange={setSending} reviewers={reviewers} />
      {asked !== undefined && (
        <Lost
          unsent={unsent}
          n={n}
          action={asked}
          sendBack={reads ? sendBack : undefined}
          close={() => ask(undefined)}
          give={() => {
            ask(undefined);
            give({ ...asked, send: (all) => asked.send(all).then(() => discard(source, unsent)) });
          }}
        />
      )}
    </>
  );
}

/** Asks what becomes of comments that a decision does not send. */
function Lost({ unsent, n, action: a, sendBack, close, give }: { unsent: Unsent; n: number; action: Action; sendBack: (() => void) | undefined; close: () => void; give: () => void }) {
  const them = n === 1 ? "it" : "them";
  const [first] = [...unsent.drafts.map((d) => d.comment.text), ...unsent.typed.map((t) => t.text)];
  return (
    <Dialog title={`${count(n, "comment was", "comments were")} not sent`} open onOpenChange={close}>
      <blockquote className="mb-3 line-clamp-3 border-l-2 border-line-strong pl-3 wrap-anywhere">{first}</blockquote>
      <p className="mb-4">{`${sendBack === undefined ? "" : `Send the work back with ${them}, or ${a.label.toLowerCase()} the work without ${them}. `}${a.label} deletes ${them} when the decision is sent.`}</p>
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={close}>Cancel</Button>
        <Button tone={a.tone === "bad" ? "bad" : "plain"} onClick={give}>{`${a.label} without ${them}`}</Button>
        {sendBack !== undefined && (
          <Button tone="accent" data-first="" onClick={sendBack}>
            {sendLabel(n)}
          </Button>
        )}
      </div>
    </Dialog>
  );
}
