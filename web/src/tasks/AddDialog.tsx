import { useState } from "react";

import { called, useAgents, whoMay } from "@/agents/agents";
import { lines, priorities } from "@/agents/AgentDialogs";
import type { Api } from "@/api/client";
import { give } from "@/tasks/give";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input, Select, Textarea } from "@/ui/field";
import { useOrder } from "@/ui/toasts";

export function AddDialog({ backlog, onClose }: { backlog: boolean; onClose: () => void }) {
  const [title, setTitle] = useState("");
  const [body, setBody] = useState("");
  const [priority, setPriority] = useState<Api<"TaskPriority">>("normal");
  const [scope, setScope] = useState("");
  const [verify, setVerify] = useState("");
  const [after, setAfter] = useState("");
  const [later, setLater] = useState(backlog);
  const [agent, setAgent] = useState("");
  const agents = whoMay(useAgents().data?.items ?? []);
  const add = useOrder(give.add, ({ data }) => `${data?.id ?? "The task"} is added.`);
  const assign = useOrder(give.assign, (_, { id, agent: to }) => `${id} is given to ${to}.`);
  return (
    <Dialog title="Add a task" open onOpenChange={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          add.mutate(
            { title: title.trim(), body, priority, scope: lines(scope), verify: lines(verify), after: after.split(/[\s,]+/).filter((id) => id !== ""), backlog: later },
            {
              onSuccess: ({ data }) => {
                if (agent !== "" && !later && data !== undefined) {
                  assign.mutate({ id: data.id, agent });
                }
                onClose();
              },
            },
          );
        }}
      >
        <Field label="Title">{(ids) => <Input {...ids} value={title} onChange={(e) => setTitle(e.target.value)} />}</Field>
        <Field label="Description">{(ids) => <Textarea {...ids} value={body} onChange={(e) => setBody(e.target.value)} />}</Field>
        {!later && (
          <Field label="Who does it" hint="You can assign it later, to a new worker too.">
            {(ids) => <Select {...ids} options={[["", "Nobody yet"] as const, ...agents.map((a) => [a.name, `${called(a)} (${a.role === "worker" ? a.state : a.role})`] as const)]} value={agent} onChange={(e) => setAgent(e.target.value)} />}
          </Field>
        )}
        <Field label="Priority">
          {(ids) => <Select {...ids} options={priorities} value={priority} onChange={(e) => setPriority(e.target.value as Api<"TaskPriority">)} />}
        </Field>
        <Field label="Scope" hint="What it may change: a pattern in each line. Empty: everything.">
          {(ids) => <Textarea {...ids} className="min-h-14" value={scope} onChange={(e) => setScope(e.target.value)} />}
        </Field>
        <Field label="Checks" hint="Commands that must pass: one in each line.">
          {(ids) => <Textarea {...ids} className="min-h-14 font-mono" value={verify} onChange={(e) => setVerify(e.target.value)} />}
        </Field>
        <Field label="After" hint="Ids of tasks that must be done first, such as t1 t2.">
          {(ids) => <Input {...ids} value={after} onChange={(e) => setAfter(e.target.value)} />}
        </Field>
        <label className="flex items-center gap-2">
          <input type="checkbox" checked={later} onChange={(e) => setLater(e.target.checked)} />
          Keep it in the backlog
        </label>
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
