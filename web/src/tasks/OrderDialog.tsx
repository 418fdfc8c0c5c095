import { useState } from "react";

import { TextDialog } from "@/agents/AgentDialogs";
import { called, useAgents } from "@/agents/agents";
import type { Task, TaskOrder } from "@/tasks/board";
import { give } from "@/tasks/give";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Select } from "@/ui/field";
import { useOrder } from "@/ui/toasts";

const texts: Readonly<Record<Exclude<TaskOrder, "assign">, { title: (id: string) => string; label: string; action: string; done: (id: string) => string }>> = {
  pause: { title: (id) => `Pause ${id}`, label: "Reason. What it came to is kept.", action: "Pause", done: (id) => `${id} is paused.` },
  cancel: { title: (id) => `Cancel ${id}`, label: "Reason. Its agent gets a message to stop; its work is kept.", action: "Cancel the task", done: (id) => `${id} is cancelled.` },
  done: { title: (id) => `Call ${id} done`, label: "Reason. The task is done whatever its own result is, and shown as done (override).", action: "Call it done", done: (id) => `${id} is done (override).` },
};

/** Asks what an order for a task needs: an agent, or a reason. */
export function OrderDialog({ task, order, onClose }: { task: Task; order: TaskOrder; onClose: () => void }) {
  if (order === "assign") {
    return <Assign task={task} onClose={onClose} />;
  }
  const t = texts[order];
  return <TextDialog title={t.title(task.id)} label={t.label} action={t.action} give={(reason) => give[order]({ id: task.id, reason })} done={t.done(task.id)} optional onClose={onClose} />;
}

function Assign({ task, onClose }: { task: Task; onClose: () => void }) {
  const agents = useAgents();
  const options = (agents.data?.items ?? []).filter((a) => a.role !== "sentry").map((a) => [a.name, `${called(a)} (${a.state})`] as const);
  const [chosen, choose] = useState(task.assigned_to);
  const agent = options.some(([name]) => name === chosen) ? chosen : (options[0]?.[0] ?? "");
  const assign = useOrder(give.assign, `${task.id} is given to ${agent}.`);
  return (
    <Dialog title={`Assign ${task.id}`} open onOpenChange={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          assign.mutate({ id: task.id, agent }, { onSuccess: onClose });
        }}
      >
        <p className="wrap-anywhere">{task.title}</p>
        <Field label="Agent">{(ids) => <Select {...ids} options={options} value={agent} onChange={(e) => choose(e.target.value)} />}</Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="accent" busy={assign.isPending} disabled={agent === ""}>
            Assign
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
