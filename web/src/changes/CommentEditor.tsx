import { Pencil, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";

import type { Api } from "@/api/client";
import { visible } from "@/changes/visible";
import { Button, IconButton } from "@/ui/button";
import { Field } from "@/ui/field";

interface CommentEditorProps {
  about: string;
  text: string;
  focus: boolean; // it was opened just now
  save?: string; // the words on the button; else for a new comment
  onType: (text: string) => void;
  onSave: (text: string) => void;
  onCancel: () => void;
}

/** A comment that is being written, under the line that it is about. */
export function CommentEditor({ about, text, focus, save = "Add comment", onType, onSave, onCancel }: CommentEditorProps) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (focus) {
      form.current?.querySelector("textarea")?.focus();
    }
  }, [focus]);
  return (
    <form
      ref={form}
      className="m-2 flex max-w-3xl flex-col gap-2 rounded-md border border-accent bg-raised p-2"
      onSubmit={(e) => {
        e.preventDefault();
        if (text.trim() !== "") {
          onSave(text.trim());
        }
      }}
      onKeyDown={(e) => {
        if (e.key === "Escape") {
          onCancel();
        } else if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
          e.currentTarget.requestSubmit();
        }
      }}
    >
      <Field label={`Comment on ${about}`}>
        {(ids) => <textarea {...ids} rows={3} value={text} onChange={(e) => onType(e.target.value)} className="w-full rounded-md border border-line-strong bg-surface px-2 py-1" />}
      </Field>
      <div className="flex justify-end gap-2">
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" tone="accent" disabled={text.trim() === ""}>
          {save}
        </Button>
      </div>
    </form>
  );
}

/** A comment that waits to be sent. */
export function CommentNote({ comment, onChange, onRemove }: { comment: Api<"Comment">; onChange: (text: string) => void; onRemove: () => void }) {
  const [text, setText] = useState<string>(); // it is being changed
  if (text !== undefined) {
    return (
      <CommentEditor
        about={`${visible(comment.path)}${comment.line === undefined ? "" : `:${comment.line}`}`}
        text={text}
        focus
        save="Save comment"
        onType={setText}
        onSave={(to) => {
          onChange(to);
          setText(undefined);
        }}
        onCancel={() => setText(undefined)}
      />
    );
  }
  return (
    <div className="m-2 flex max-w-3xl items-start gap-2 rounded-md border border-line-strong bg-raised p-2">
      <p className="min-w-0 grow whitespace-pre-wrap wrap-anywhere">{visible(comment.text)}</p>
      <IconButton label="Edit this comment" onClick={() => setText(comment.text)}>
        <Pencil size={15} />
      </IconButton>
      <IconButton label="Remove this comment" onClick={onRemove}>
        <X size={16} />
      </IconButton>
    </div>
  );
}
