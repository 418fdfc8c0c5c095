import { useState } from "react";

import { give } from "@/agents/give";
import type { Api } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Select, Textarea } from "@/ui/field";
import { useOrder } from "@/ui/toasts";

interface TextDialogProps<Out> {
  title: string;
  label: string;
  hint?: string;
  action: string;
  give: (text: string) => Promise<Out>;
  done: string | ((out: Out) => string);
  optional?: boolean;
  onClose: () => void;
}

/** Asks for a text, and stays open until it is taken. */
export function TextDialog<Out>({ title, label, hint, action, give: order, done, optional = false, onClose }: TextDialogProps<Out>) {
  const [text, setText] = useState("");
  const given = useOrder(order, done);
  return (
    <Dialog title={title} open onOpenChange={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          given.mutate(text.trim(), { onSuccess: onClose });
        }}
      >
        <Field label={label} {...(hint === undefined ? {} : { hint })}>
          {(ids) => <Textarea {...ids} value={text} onChange={(e) => setText(e.target.value)} />}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Back</Button>
          <Button type="submit" tone="accent" busy={given.isPending} disabled={!optional && text.trim() === ""}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export const priorities = ["critical", "high", "normal", "low"] as const satisfies readonly Api<"TaskPriority">[];

/** Lines of a text that say something. */
export function lines(text: string): string[] {
  return text
    .split("\n")
    .map((l) => l.trim())
    .filter((l) => l !== "");
}

/** Gives an agent a task: one that there is, by its id, or a new one. */
export function AssignDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const [what, setWhat] = useState("");
  const [priority, setPriority] = useState<Api<"TaskPriority">>("normal");
  const [scope, setScope] = useState("");
  const [verify, setVerify] = useState("");
  const assign = useOrder(give.assign, ({ data }) => `${data?.id ?? "The task"} is given to ${name}.`);
  return (
    <Dialog title={`Assign a task to ${name}`} open onOpenChange={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          const isNew = !/^t\d+$/.test(what.trim());
          assign.mutate({ name, what: what.trim(), ...(isNew ? { priority, scope: lines(scope), verify: lines(verify) } : {}) }, { onSuccess: onClose });
        }}
      >
        <Field label="Task" hint="A new task in words, or the id of an existing one, such as t12.">
          {(ids) => <Textarea {...ids} value={what} onChange={(e) => setWhat(e.target.value)} />}
        </Field>
        <Field label="Priority">
          {(ids) => <Select {...ids} options={priorities} value={priority} onChange={(e) => setPriority(e.target.value as Api<"TaskPriority">)} />}
        </Field>
        <Field label="Scope" hint="What it may change: a pattern in each line. Empty: everything.">
          {(ids) => <Textarea {...ids} className="min-h-14" value={scope} onChange={(e) => setScope(e.target.value)} />}
        </Field>
        <Field label="Checks" hint="Commands that must pass: one in each line.">
          {(ids) => <Textarea {...ids} className="min-h-14 font-mono" value={verify} onChange={(e) => setVerify(e.target.value)} />}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="accent" busy={assign.isPending} disabled={what.trim() === ""}>
            Assign
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
