import { useState } from "react";

import { kinds, lengthOf, mostText, type Kind, type Note } from "@/memory/notes";
import { Button } from "@/ui/button";
import { Field, Input, Select, Textarea } from "@/ui/field";

export interface Written {
  text: string;
  kind: Kind;
  files: string[];
}

interface NoteFormProps {
  note?: Note;
  action: string;
  busy: boolean;
  onGive: (written: Written) => void;
  onCancel: () => void;
}

/** What a note says, to be written. */
export function NoteForm({ note, action, busy, onGive, onCancel }: NoteFormProps) {
  const [text, setText] = useState(note?.text ?? "");
  const [kind, setKind] = useState<Kind>(note?.kind ?? "project");
  const [files, setFiles] = useState((note?.about.files ?? []).join(", "));
  const long = lengthOf(text);
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={(e) => {
        e.preventDefault();
        onGive({ text: text.trim(), kind, files: files.split(",").map((f) => f.trim()).filter((f) => f !== "") });
      }}
    >
      <Field label="Text" hint={`${long} of ${mostText} characters`} error={long > mostText ? `This has ${long} characters, and may have ${mostText}.` : undefined}>
        {(ids) => <Textarea {...ids} value={text} onChange={(e) => setText(e.target.value)} />}
      </Field>
      <div className="grid gap-2 sm:grid-cols-2">
        <Field label="Kind">{(ids) => <Select {...ids} options={kinds} value={kind} onChange={(e) => setKind(kinds.find(([k]) => k === e.target.value)?.[0] ?? kind)} />}</Field>
        <Field label="Files" hint="That it is about, separated by commas">
          {(ids) => <Input {...ids} value={files} onChange={(e) => setFiles(e.target.value)} />}
        </Field>
      </div>
      <div className="flex gap-2">
        <Button onClick={onCancel}>Go back</Button>
        <Button type="submit" tone="accent" busy={busy} disabled={long === 0 || long > mostText}>
          {action}
        </Button>
      </div>
    </form>
  );
}
