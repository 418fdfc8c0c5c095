import { MoreHorizontal } from "lucide-react";
import { useState } from "react";

import { TextDialog } from "@/agents/AgentDialogs";
import { fits, type Task, type TaskOrder } from "@/tasks/board";
import { give } from "@/tasks/give";
import { OrderDialog } from "@/tasks/OrderDialog";
import { Button, IconButton } from "@/ui/button";
import { Menu, type MenuItem } from "@/ui/menu";
import { useOrder } from "@/ui/toasts";

const orders: readonly (readonly [TaskOrder, string])[] = [
  ["assign", "Assign task…"],
  ["pause", "Pause task…"],
  ["done", "Call task done…"],
  ["cancel", "Cancel task…"],
];

/** The orders for a task that fit its state. */
export function TaskMenu({ task, labeled = false }: { task: Task; labeled?: boolean }) {
  const [asked, ask] = useState<TaskOrder | "comment">();
  const take = useOrder(give.take, `${task.id} is out of the backlog.`);
  const items: MenuItem[] = orders.filter(([o]) => fits(o, task)).map(([o, label]) => ({ label, run: () => ask(o), bad: o === "cancel" }));
  if (task.backlog) {
    items.unshift({ label: "Take out of the backlog", run: () => take.mutate(task.id) });
  }
  items.push({ label: "Comment on task…", run: () => ask("comment") });
  const close = () => ask(undefined);
  return (
    <>
      <Menu
        trigger={
          labeled ? (
            <Button icon={<MoreHorizontal aria-hidden size={16} />}>Actions</Button>
          ) : (
            <IconButton label={`Actions for ${task.id}`} className="min-h-6">
              <MoreHorizontal size={16} />
            </IconButton>
          )
        }
        items={items}
      />
      {asked === "comment" ? (
        <TextDialog title={`Comment on ${task.id}`} label="It goes to its agent as a message or, when the task is over, as another task." action="Comment" give={(text) => give.comment({ id: task.id, text })} done="The comment is given." onClose={close} />
      ) : (
        asked !== undefined && <OrderDialog task={task} order={asked} onClose={close} />
      )}
    </>
  );
}
