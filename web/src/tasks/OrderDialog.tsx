import { useState } from "react";

import { TextDialog } from "@/agents/AgentDialogs";
import { called, useAgents, whoMay } from "@/agents/agents";
import { SpawnDialog } from "@/agents/SpawnDialog";
import type { Task, TaskOrder } from "@/tasks/board";
import { give } from "@/tasks/give";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Select } from "@/ui/field";
import { useOrder } from "@/ui/toasts";

const texts: Readonly<Record<Exclude<TaskOrder, "assign">, { title: (id: string) => string; hint: string; action: string; done: (id: string) => string }>> = {
  pause: { title: (id) => `Pause ${id}`, hint: "Its work is kept.", action: "Pause task", done: (id) => `${id} is paused.` },
  cancel: { title: (id) => `Cancel ${id}`, hint: "Its agent gets a message to stop. Its work is kept.", action: "Cancel task", done: (id) => `${id} is cancelled.` },
  done: { title: (id) => `Call ${id} done`, hint: "The task is done, whatever its own result is. It is shown as done (override).", action: "Call task done", done: (id) => `${id} is done (override).` },
};

/** Asks what an order for a task needs: an agent, or a reason. */
export function OrderDialog({ task, order, onClose }: { task: Task; order: TaskOrder; onClose: () => void }) {
  if (order === "assign") {
    return <Assign task={task} onClose={onClose} />;
  }
  const t = texts[order];
  return <TextDialog title={t.title(task.id)} label="Reason" hint={t.hint} action={t.action} give={(reason) => give[order]({ id: task.id, reason })} done={t.done(task.id)} optional onClose={onClose} />;
}

/** The option of the list that stands for a worker who is not there yet. */
const another = "\0new";

function Assign({ task, onClose }: { task: Task; onClose: () => void }) {
  const agents = useAgents();
  const options = [...whoMay(agents.data?.items ?? []).map((a) => [a.name, `${called(a)} (${a.role === "worker" ? a.state : `${a.role}, changes no files`})`] as const), [another, "A new worker…"] as const];
  const [chosen, choose] = useState(task.assigned_to);
  const agent = options.some(([name]) => name === chosen) ? chosen : options[0]?.[0] ?? another;
  const assign = useOrder(give.assign, `${task.id} is given to ${agent}.`);
  const [spawning, spawn] = useState(false);
  if (spawning) {
    return <SpawnDialog task={task.id} onClose={onClose} />;
  }
  return (
    <Dialog title={`Assign ${task.id}`} open onOpenChange={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          if (agent === another) {
            spawn(true);
          } else {
            assign.mutate({ id: task.id, agent }, { onSuccess: onClose });
          }
        }}
      >
        <p className="wrap-anywhere">{task.title}</p>
        <Field label="Agent">{(ids) => <Select {...ids} options={options} value={agent} onChange={(e) => choose(e.target.value)} />}</Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="accent" busy={assign.isPending} disabled={agents.data === undefined}>
            {agent === another ? "Continue" : "Assign"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
