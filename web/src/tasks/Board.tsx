import { useState } from "react";

import { byState, columns, orderFor, type Task, type TaskOrder } from "@/tasks/board";
import { OrderDialog } from "@/tasks/OrderDialog";
import { TaskCard } from "@/tasks/TaskCard";
import { VirtualList } from "@/ui/list";

/** The tasks by state. A task can be dragged where an order brings it; its menu has the same orders. */
export function Board({ tasks }: { tasks: readonly Task[] }) {
  const [dragged, drag] = useState<Task>();
  const [asked, ask] = useState<{ task: Task; order: TaskOrder }>();
  const placed = byState(tasks);
  return (
    <div tabIndex={0} role="region" aria-label="Board" className="flex min-h-0 grow gap-2 overflow-x-auto p-3">
      {columns.map((c) => {
        const items = placed.get(c.id) ?? [];
        const order = dragged && orderFor(dragged, c.id);
        return (
          <section
            key={c.id}
            aria-label={`${c.label}, ${items.length}`}
            onDragOver={(e) => {
              if (order !== undefined) {
                e.preventDefault();
                e.dataTransfer.dropEffect = "move";
              }
            }}
            onDrop={(e) => {
              if (order !== undefined && dragged) {
                e.preventDefault();
                ask({ task: dragged, order });
              }
            }}
            className={`flex shrink-0 flex-col rounded-lg border bg-sunken ${items.length === 0 ? "wide-36" : "wide-56 grow"} ${order === undefined ? "border-line" : "border-accent"} ${dragged && order === undefined ? "opacity-60" : ""}`}
          >
            <h2 className="flex items-center gap-1.5 px-2 py-2 font-semibold">
              {c.label}
              <span className="rounded bg-surface px-1.5 font-medium text-muted">{items.length}</span>
            </h2>
            <div className="min-h-32 grow">
              {items.length > 0 && (
                <VirtualList
                  label={c.label}
                  items={items}
                  keyOf={(t) => t.id}
                  estimate={96}
                  row={(t) => (
                    <div
                      draggable
                      className="px-2 pb-2"
                      onDragStart={(e) => {
                        e.dataTransfer.effectAllowed = "move";
                        e.dataTransfer.setData("text/plain", t.id);
                        drag(t);
                      }}
                      onDragEnd={() => drag(undefined)}
                    >
                      <TaskCard task={t} as="div" />
                    </div>
                  )}
                />
              )}
            </div>
          </section>
        );
      })}
      {asked && <OrderDialog {...asked} onClose={() => ask(undefined)} />}
    </div>
  );
}
