import { Plus } from "lucide-react";
import { useState } from "react";

import { api, hooks } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input, Select, Textarea } from "@/ui/field";
import { useOrder } from "@/ui/toasts";

/** Adds a node to a configuration's text, and leaves all else in it as it is. */
export function AddNode({ text, onText, names }: { text: string; onText: (text: string) => void; names: readonly string[] }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button icon={<Plus aria-hidden size={15} />} onClick={() => setOpen(true)}>
        Add a node
      </Button>
      <Dialog title="Add a node" open={open} onOpenChange={setOpen}>
        <Sketch
          text={text}
          names={names}
          done={(t) => {
            onText(t);
            setOpen(false);
          }}
        />
      </Dialog>
    </>
  );
}

const kinds = ["command", "agent", "review", "merge", "gate"] as const;
type Kind = (typeof kinds)[number];

const titles: Readonly<Record<Kind, string>> = {
  command: "Command: runs in a worktree of its own",
  agent: "Agent: works in a worktree of its own",
  review: "Review: an agent reads what others did",
  merge: "Merge: brings the branches of others together",
  gate: "Gate: waits for your approval",
};

function Sketch({ text, names, done }: { text: string; names: readonly string[]; done: (text: string) => void }) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState<Kind>("command");
  const [program, setProgram] = useState("");
  const [task, setTask] = useState("");
  const [scope, setScope] = useState("");
  const [after, setAfter] = useState<readonly string[]>([]);
  const start = hooks.useQuery("get", "/api/graph/start");
  const runs = kind === "command";
  const agent = runs ? "command" : kind === "gate" ? "" : program;
  const add = useOrder(async () => {
    const words = scope.split(/\s+/).filter(Boolean);
    const { data } = await api.POST("/api/graph/add", {
      body: {
        text,
        node: {
          name: name.trim(),
          ...(kind === "command" || kind === "agent" ? {} : { role: kind }),
          ...(agent === "" ? {} : { agent }),
          ...(kind === "gate" || task.trim() === "" ? {} : { task: task.trimEnd() }),
          ...(kind === "gate" || kind === "review" || words.length === 0 ? {} : { scope: words }),
          ...(after.length === 0 ? {} : { depends_on: [...after] }),
        },
      },
    });
    if (data) {
      done(data.text);
    }
  }, `${name.trim()} is in the text, which is not saved yet.`);
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(e) => {
        e.preventDefault();
        add.mutate();
      }}
    >
      <Field label="Name">{(ids) => <Input {...ids} required placeholder={kind === "gate" ? "approval" : kind === "command" ? "test" : kind === "agent" ? "api" : kind} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
      <Field label="Kind">{(ids) => <Select {...ids} value={kind} onChange={(e) => setKind(kinds.find((k) => k === e.target.value) ?? kind)} options={kinds.map((k) => [k, titles[k]] as const)} />}</Field>
      {names.length > 0 && (
        <fieldset className="max-h-40 overflow-auto">
          <legend className="font-medium">Depends on</legend>
          {names.map((n) => (
            <label key={n} className="mr-4 inline-flex min-h-8 items-center gap-1.5">
              <input type="checkbox" className="size-4" checked={after.includes(n)} onChange={() => setAfter(after.includes(n) ? after.filter((a) => a !== n) : [...after, n])} />
              {n}
            </label>
          ))}
          <p className="text-muted">It starts when these are done, from their work. None: at once.</p>
        </fieldset>
      )}
      {!runs && kind !== "gate" && (
        <Field label="Program" hint="The agent program that it is.">
          {(ids) => <Select {...ids} value={program} onChange={(e) => setProgram(e.target.value)} options={[["", "that of the file's defaults, else claude"], ...(start.data?.kinds ?? [])]} />}
        </Field>
      )}
      {kind !== "gate" && (
        <Field label={runs ? "Command" : "Task"} hint={runs ? "sh runs it. Of several lines the last one decides, unless the first is set -e." : kind === "merge" ? "Empty: cmux merges by itself, and fails on a conflict." : "What should be done, and what must be true when it is."}>
          {(ids) => <Textarea {...ids} required={kind !== "merge"} className={runs ? "font-mono" : ""} placeholder={runs ? "make test" : kind === "agent" ? "Add a search box to the list of items" : kind === "review" ? "Look for faults and missing tests" : ""} value={task} onChange={(e) => setTask(e.target.value)} />}
        </Field>
      )}
      {kind !== "gate" && kind !== "review" && (
        <Field label="Scope" hint="Paths that it may change, with spaces between. Empty: all.">
          {(ids) => <Input {...ids} className="font-mono" placeholder="src/api docs/*.md" value={scope} onChange={(e) => setScope(e.target.value)} />}
        </Field>
      )}
      <div className="flex justify-end">
        <Button type="submit" tone="accent" busy={add.isPending} disabled={name.trim() === "" || (kind === "merge" && after.length === 0)}>
          Add
        </Button>
      </div>
    </form>
  );
}
