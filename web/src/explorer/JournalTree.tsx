import { useState } from "react";

import { api, hooks } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input, Textarea } from "@/ui/field";
import { Answer } from "@/ui/states";
import { useOrder } from "@/ui/toasts";

/** The days of the journal with their files. */
export function JournalTree({ chosen, choose }: { chosen: string; choose: (path: string) => void }) {
  const tree = hooks.useQuery("get", "/api/journal/tree", { params: { query: { days: 60 } } });
  const [writing, write] = useState(false);
  return (
    <div className="p-2">
      <Button onClick={() => write(true)}>Add an entry</Button>
      <Answer query={tree}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="p-2 text-muted">The journal has no entry yet.</p>
          ) : (
            <ul>
              {items.map((d, i) => (
                <li key={d.day}>
                  <details open={i === 0}>
                    <summary className="min-h-7 rounded px-1 hover:bg-sunken">{d.day}</summary>
                    <ul className="ml-3 border-l border-line pl-1">
                      {d.files.map((f) => (
                        <li key={f.path}>
                          <button
                            type="button"
                            aria-current={chosen === f.path ? "true" : undefined}
                            disabled={f.kind !== "file"}
                            onClick={() => choose(f.path)}
                            className="min-h-7 w-full truncate rounded px-2 text-left hover:bg-sunken disabled:opacity-55 aria-[current]:bg-accent-soft"
                          >
                            {f.name}
                          </button>
                        </li>
                      ))}
                    </ul>
                  </details>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      {writing && <Entry onClose={() => write(false)} />}
    </div>
  );
}

function Entry({ onClose }: { onClose: () => void }) {
  const [title, setTitle] = useState("");
  const [text, setText] = useState("");
  const add = useOrder((body: { title: string; text: string }) => api.POST("/api/journal/entry", { body }), ({ data }) => `It is in the journal of ${data?.day ?? "today"}.`);
  return (
    <Dialog title="Add to the journal" open onOpenChange={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          add.mutate({ title: title.trim(), text }, { onSuccess: onClose });
        }}
      >
        <Field label="Title">{(ids) => <Input {...ids} value={title} onChange={(e) => setTitle(e.target.value)} />}</Field>
        <Field label="Text">{(ids) => <Textarea {...ids} value={text} onChange={(e) => setText(e.target.value)} />}</Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="accent" busy={add.isPending} disabled={title.trim() === ""}>
            Add
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
