import { Plus } from "lucide-react";
import { useState } from "react";

import { api, type Api } from "@/api/client";
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

const roles: readonly Api<"DagRole">[] = ["build", "review", "merge", "gate"];

function Sketch({ text, names, done }: { text: string; names: readonly string[]; done: (text: string) => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<string>("build");
  const [agent, setAgent] = useState("");
  const [task, setTask] = useState("");
  const [scope, setScope] = useState("");
  const [after, setAfter] = useState<readonly string[]>([]);
  const add = useOrder(async () => {
    const words = scope.split(/\s+/).filter(Boolean);
    const { data } = await api.POST("/api/graph/add", {
      body: {
        text,
        node: {
          name: name.trim(),
          ...(role === "build" ? {} : { role }),
          ...(agent.trim() === "" ? {} : { agent: agent.trim() }),
          ...(task.trim() === "" ? {} : { task: task.trimEnd() }),
          ...(words.length === 0 ? {} : { scope: words }),
          ...(after.length === 0 ? {} : { depends_on: [...after] }),
        },
      },
    });
    if (data) {
      done(data.text);
    }
  }, `${name.trim()} is in the text. Save it, and update the run.`);
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(e) => {
        e.preventDefault();
        add.mutate();
      }}
    >
      <Field label="Name">{(ids) => <Input {...ids} required value={name} onChange={(e) => setName(e.target.value)} />}</Field>
      <div className="grid grid-cols-2 gap-3">
        <Field label="Role">{(ids) => <Select {...ids} value={role} onChange={(e) => setRole(e.target.value)} options={roles} />}</Field>
        <Field label="Kind of agent" hint="Empty: the default">
          {(ids) => <Input {...ids} value={agent} onChange={(e) => setAgent(e.target.value)} />}
        </Field>
      </div>
      {role !== "gate" && <Field label="Task">{(ids) => <Textarea {...ids} value={task} onChange={(e) => setTask(e.target.value)} />}</Field>}
      {role !== "gate" && (
        <Field label="Scope" hint="What it may write, with spaces between">
          {(ids) => <Input {...ids} value={scope} onChange={(e) => setScope(e.target.value)} />}
        </Field>
      )}
      {names.length > 0 && (
        <fieldset className="max-h-40 overflow-auto">
          <legend className="font-medium">Waits for</legend>
          {names.map((n) => (
            <label key={n} className="mr-4 inline-flex min-h-8 items-center gap-1.5">
              <input type="checkbox" className="size-4" checked={after.includes(n)} onChange={() => setAfter(after.includes(n) ? after.filter((a) => a !== n) : [...after, n])} />
              {n}
            </label>
          ))}
        </fieldset>
      )}
      <div className="flex justify-end">
        <Button type="submit" tone="accent" busy={add.isPending} disabled={name.trim() === ""}>
          Add
        </Button>
      </div>
    </form>
  );
}
