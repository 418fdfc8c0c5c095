import { clsx } from "clsx";
import { Check, CircleDashed, CircleSlash, LoaderCircle, X } from "lucide-react";
import { useState } from "react";

import { diff, linesOf } from "@/changes/diff";
import { figures, rows } from "@/changes/rows";
import { visible } from "@/changes/visible";
import type { Call } from "@/conversation/group";
import { changesOf, commandOf, editsOf, inputText, patchLines, summary, type Edit, type Patch } from "@/conversation/input";
import { Output } from "@/conversation/Output";

const states = {
  runs: [LoaderCircle, "runs", "text-info"],
  done: [Check, "done", "text-ok"],
  failed: [X, "failed", "text-bad"],
  denied: [CircleSlash, "refused", "text-bad"],
  over: [CircleDashed, "no result", "text-muted"],
} as const;

/** A call of a tool: one line, and all of it when it is opened. */
export function CallView({ call }: { call: Call }) {
  const [open, setOpen] = useState(false);
  const [Icon, word, color] = states[call.state];
  const line = summary(call.input);
  return (
    <details className="rounded border border-line bg-surface" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary className="flex items-baseline gap-2 px-2 py-1">
        <Icon aria-hidden size={14} className={clsx("shrink-0 self-center", color)} />
        <span className="font-medium">{call.tool}</span>
        <code className="min-w-0 grow truncate">{visible(line)}</code>
        <span className={color}>{word}</span>
      </summary>
      {open && <CallBody call={call} />}
    </details>
  );
}

/** The input of a tool call, and its result. */
export function CallBody({ call }: { call: Call }) {
  const edits = editsOf(call.input);
  const patches = changesOf(call.input);
  const command = commandOf(call.input);
  const told = edits.length > 0 || patches.length > 0;
  return (
    <div className="border-t border-line p-2">
      {edits.map((e, i) => (
        <EditView key={i} edit={e} />
      ))}
      {patches.map((p, i) => (
        <PatchView key={i} patch={p} />
      ))}
      {command !== undefined && (
        <pre tabIndex={0} aria-label="Command" className="my-1 overflow-auto rounded bg-sunken p-2 whitespace-pre-wrap wrap-anywhere">
          {visible(command)}
        </pre>
      )}
      {!told && command === undefined && <Output text={inputText(call.input)} label="Input" open />}
      {call.text !== "" && <Output text={call.text} cut={call.cut} open={call.state !== "done" || !told} label={call.state === "denied" ? "Why it was refused" : "Result"} />}
    </div>
  );
}

const mostLines = 400;

type Shown = { kind: "same" | "added" | "removed" | "place"; text: string };

/** An edit as the lines that go and come. */
function EditView({ edit }: { edit: Edit }) {
  const a = linesOf(edit.old);
  const b = linesOf(edit.now);
  const pieces = diff(a, b);
  const { added, deleted } = figures(pieces);
  const lines = rows(pieces, a, b, { unified: true, open: new Set() }).map((r): Shown => {
    switch (r.type) {
      case "fold":
        return { kind: "place", text: `… ${r.lines} lines that did not change` };
      case "same":
        return { kind: "same", text: r.old.text };
      case "changed":
        return r.old ? { kind: "removed", text: r.old.text } : { kind: "added", text: r.new?.text ?? "" };
    }
  });
  return <Lines path={edit.path} about={`+${added} −${deleted}`} lines={lines} />;
}

function PatchView({ patch }: { patch: Patch }) {
  return <Lines path={patch.path} about="" lines={patchLines(patch.diff)} />;
}

const signs = { same: " ", added: "+", removed: "−", place: " " };
const looks = { same: "", added: "bg-added", removed: "bg-removed", place: "text-muted" };

function Lines({ path, about, lines }: { path: string; about: string; lines: readonly Shown[] }) {
  return (
    <div className="my-1 overflow-hidden rounded border border-line">
      <p className="flex gap-2 border-b border-line px-2 py-0.5">
        <code className="grow wrap-anywhere">{visible(path)}</code>
        <span className="text-muted">{about}</span>
      </p>
      <div tabIndex={0} role="group" aria-label={`Edit of ${visible(path)}`} className="max-h-96 overflow-auto font-mono text-code">
        {lines.slice(0, mostLines).map((l, i) => (
          <div key={i} className={clsx("flex", looks[l.kind])}>
            <span aria-hidden className="w-5 shrink-0 text-center select-none">
              {signs[l.kind]}
            </span>
            <span className="min-w-0 whitespace-pre-wrap wrap-anywhere">
              {(l.kind === "added" || l.kind === "removed") && <span className="sr-only">{`${l.kind}: `}</span>}
              {visible(l.text)}
            </span>
          </div>
        ))}
      </div>
      {lines.length > mostLines && <p className="px-2 text-muted">{`${lines.length - mostLines} more lines`}</p>}
    </div>
  );
}
