import { Link } from "react-router";

import type { Task } from "@/tasks/board";
import { TaskMenu } from "@/tasks/TaskMenu";
import { Label, type Tone } from "@/ui/label";
import { Ago } from "@/ui/time";

const tones: Readonly<Record<Task["priority"], Tone>> = { critical: "bad", high: "warn", normal: "muted", low: "muted" };

/** A task in a few lines. */
export function TaskCard({ task: t, as: As = "li" }: { task: Task; as?: "li" | "div" }) {
  return (
    <As className="flex min-w-0 flex-col gap-1 rounded-md border border-line bg-surface p-2">
      <div className="flex items-start gap-1">
        <Link to={`/tasks/${encodeURIComponent(t.id)}`} draggable={false} className="min-w-0 grow font-medium wrap-anywhere hover:underline">
          <span className="text-muted">{t.id}</span> {t.title}
        </Link>
        <TaskMenu task={t} />
      </div>
      <p className="flex flex-wrap items-center gap-1.5">
        <Label className="whitespace-normal">{t.label}</Label>
        {t.priority !== "normal" && <Label tone={tones[t.priority]}>{t.priority}</Label>}
        {t.assigned_to !== "" && <span className="text-muted wrap-anywhere">{t.assigned_to}</span>}
        <Ago at={t.changed_at} className="ml-auto text-muted" />
      </p>
    </As>
  );
}
