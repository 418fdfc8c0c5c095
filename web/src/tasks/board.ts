import type { Api } from "@/api/client";

export type Task = Api<"TaskView">;
export type State = Api<"TaskState">;

export interface Column {
  id: string;
  label: string;
  states: readonly State[];
}

/** The columns of the board: states that mean the same to who looks at it. */
export const columns: readonly Column[] = [
  { id: "open", label: "Open", states: ["open"] },
  { id: "assigned", label: "Assigned", states: ["assigned"] },
  { id: "working", label: "Working", states: ["working", "checking", "needs input", "limited"] },
  { id: "paused", label: "Paused", states: ["paused"] },
  { id: "blocked", label: "Blocked or failed", states: ["blocked", "failed"] },
  { id: "done", label: "Done", states: ["done"] },
  { id: "cancelled", label: "Cancelled", states: ["cancelled"] },
];

export type TaskOrder = "assign" | "pause" | "cancel" | "done";

/** The order that brings a task into a column; undefined: there is none for that. */
const byColumn: Readonly<Record<string, TaskOrder>> = { assigned: "assign", paused: "pause", cancelled: "cancel", done: "done" };

/** Which states an order is for (docs/tasks.md, States); the server has the last word. */
const from: Readonly<Record<TaskOrder, readonly State[]>> = {
  assign: ["open", "assigned", "paused", "blocked", "failed", "cancelled"],
  pause: ["assigned", "working", "checking", "needs input", "limited"],
  cancel: ["open", "assigned", "working", "checking", "needs input", "limited", "paused", "blocked", "failed"],
  done: ["open", "assigned", "working", "checking", "needs input", "limited", "paused", "blocked", "failed", "cancelled"],
};

export function fits(order: TaskOrder, task: Task): boolean {
  return from[order].includes(task.state);
}

/** What a drop of a task on a column orders; undefined: the column does not take it. */
export function orderFor(task: Task, column: string): TaskOrder | undefined {
  const order = byColumn[column];
  if (order === undefined || columnOf(task) === column || !fits(order, task)) {
    return undefined;
  }
  return order;
}

export function columnOf(task: Task): string {
  return columns.find((c) => c.states.includes(task.state))?.id ?? "open";
}

/** Tasks by the column that they stand in, in the order that they came. */
export function byState(tasks: readonly Task[]): ReadonlyMap<string, readonly Task[]> {
  const all = new Map<string, Task[]>(columns.map((c) => [c.id, []]));
  for (const t of tasks) {
    all.get(columnOf(t))?.push(t);
  }
  return all;
}

/** What a task waits for from a person; undefined: nothing. */
export function nextOf(t: Pick<Task, "state" | "backlog" | "kind" | "merged" | "result">): "assign" | "merge" | undefined {
  if (t.state === "open" && !t.backlog) {
    return "assign";
  }
  const merged = t.merged !== null && t.merged.commit !== "";
  return t.state === "done" && !merged && (t.result?.commits ?? 0) > 0 ? "merge" : undefined;
}

/** Whether a task is judged by other checks than it would be given now: a change of the settings does not reach work that is under way. */
export function otherChecks({ judged }: Pick<Task, "judged">): boolean {
  return judged !== null && judged.given.join("\0") !== judged.now.join("\0");
}
