import { hooks, type Api } from "@/api/client";
import { visible } from "@/changes/visible";
import { Label } from "@/ui/label";
import { Answer } from "@/ui/states";
import { Ago } from "@/ui/time";

/** What a change of a card has made of it. */
function became(c: NonNullable<Api<"TaskChange">["card"]>): string {
  if (c.waits !== undefined && c.waits !== "") {
    return `needs you: ${c.waits}`;
  }
  return c.approved !== undefined && c.approved !== "" ? `approved by ${c.approved}` : (c.phase ?? "in the backlog");
}

/** What has happened to a task. */
export function TaskLog({ id }: { id: string }) {
  const log = hooks.useQuery("get", "/api/tasks/{id}/log", { params: { path: { id }, query: { limit: 1000 } } });
  return (
    <Answer query={log}>
      {({ items }) => (
        <ol className="flex flex-col p-4">
          {items.map((c, i) => (
            <li key={i} className="flex flex-wrap items-baseline gap-x-3 border-b border-line py-1.5">
              <Ago at={c.at} className="w-10 text-muted" />
              <strong>{c.op}</strong>
              <span>{c.by}</span>
              {c.to !== undefined && <Label>{c.to}</Label>}
              {c.agent !== undefined && c.agent !== "" && <span>{c.agent}</span>}
              {c.priority !== undefined && <span className="text-muted">{c.priority}</span>}
              {c.card !== undefined && c.op !== "add" && <span className="min-w-0 wrap-anywhere">{visible(became(c.card))}</span>}
              {c.reason !== undefined && c.reason !== "" && <span className="min-w-0 wrap-anywhere">{c.reason}</span>}
              {c.title !== undefined && c.title !== "" && <span className="min-w-0 wrap-anywhere">{c.title}</span>}
            </li>
          ))}
        </ol>
      )}
    </Answer>
  );
}
