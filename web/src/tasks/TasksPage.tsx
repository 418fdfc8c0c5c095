import { Plus } from "lucide-react";
import { useState } from "react";

import { hooks } from "@/api/client";
import { AllCards } from "@/cards/Cards";
import { AddDialog } from "@/tasks/AddDialog";
import { Board } from "@/tasks/Board";
import { Schedule } from "@/tasks/Schedule";
import { TaskCard } from "@/tasks/TaskCard";
import { Button } from "@/ui/button";
import { Field, Input } from "@/ui/field";
import { count } from "@/ui/figures";
import { Page } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";
import { Tabs } from "@/ui/tabs";

const page = { pageParamName: "cursor", initialPageParam: "", getNextPageParam: (p: { next?: string }) => p.next };

export default function TasksPage() {
  const [adding, add] = useState<"task" | "backlog">();
  const [typed, type] = useState("");
  const tasks = hooks.useInfiniteQuery("get", "/api/tasks", { params: { query: { all: true, limit: 1000 } } }, page);
  const words = typed.toLowerCase().split(/\s+/);
  const all = tasks.data?.pages.flatMap((p) => p.items) ?? [];
  const seen = all.filter((t) => {
    const line = `${t.id} ${t.title} ${t.label} ${t.assigned_to} ${t.priority} ${t.branch}`.toLowerCase();
    return words.every((w) => line.includes(w));
  });
  const none = (
    <Empty title="There is no task yet" action={<Button onClick={() => add("task")}>Add a task</Button>}>
      Tasks are pieces of work for agents. The supervisor adds them too.
    </Empty>
  );
  return (
    <Page
      title="Tasks"
      about={tasks.data && <span>{count(all.length, "task")}{tasks.hasNextPage ? ", and more" : ""}</span>}
      actions={
        <>
          {tasks.hasNextPage && (
            <Button busy={tasks.isFetchingNextPage} onClick={() => void tasks.fetchNextPage()}>
              Load more
            </Button>
          )}
          <Field label="Find a task" hidden>
            {(ids) => <Input {...ids} type="search" placeholder="Find" value={typed} onChange={(e) => type(e.target.value)} />}
          </Field>
          <Button icon={<Plus aria-hidden size={16} />} onClick={() => add("task")}>
            Add
          </Button>
        </>
      }
    >
      <Tabs
        label="Tasks, cards, backlog and schedule"
        tabs={[
          { id: "board", label: "Board", content: () => <Answer query={tasks}>{() => (all.length === 0 ? none : <Board tasks={seen} />)}</Answer> },
          { id: "cards", label: "Cards", content: () => <AllCards /> },
          { id: "backlog", label: "Backlog", content: () => <Backlog add={() => add("backlog")} /> },
          { id: "schedule", label: "Schedule", content: () => <Schedule /> },
        ]}
      />
      {adding !== undefined && <AddDialog backlog={adding === "backlog"} onClose={() => add(undefined)} />}
    </Page>
  );
}

function Backlog({ add }: { add: () => void }) {
  const backlog = hooks.useQuery("get", "/api/tasks", { params: { query: { backlog: true, limit: 1000 } } });
  return (
    <Answer query={backlog}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty title="The backlog is empty" action={<Button onClick={add}>Add to the backlog</Button>}>
            It holds tasks for later.
          </Empty>
        ) : (
          <ul className="flex flex-col gap-2 p-4">
            {items.map((t) => (
              <TaskCard key={t.id} task={t} />
            ))}
          </ul>
        )
      }
    </Answer>
  );
}
