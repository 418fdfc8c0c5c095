import { useState } from "react";

import { api, hooks, type Api } from "@/api/client";
import { Button } from "@/ui/button";
import { Confirm, Dialog } from "@/ui/dialog";
import { Field, Input, Select, Textarea } from "@/ui/field";
import { Label } from "@/ui/label";
import { Answer, Empty } from "@/ui/states";
import { Ago, moment } from "@/ui/time";
import { useOrder } from "@/ui/toasts";

/** Messages and tasks for certain times. */
export function Schedule() {
  const schedule = hooks.useQuery("get", "/api/schedule", { params: { query: { limit: 1000 } } });
  const [adding, add] = useState(false);
  const run = useOrder(
    (s: Api<"Scheduled">) => api.POST("/api/schedule/{id}/run", { params: { path: { id: s.id } } }),
    ({ data }, s) => (data?.failed !== undefined ? `${s.id} added no task: ${data.failed}.` : s.task ? `Task ${data?.made ?? ""} is added.` : "The message is sent."),
  );
  const remove = useOrder((id: string) => api.DELETE("/api/schedule/{id}", { params: { path: { id } } }), (_, id) => `${id} is removed.`);
  return (
    <div className="flex flex-col gap-3 p-4">
      <div>
        <Button onClick={() => add(true)}>Schedule a task or a message</Button>
      </div>
      <Answer query={schedule}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="Nothing is scheduled">Add a message or a task for a time, or for times again and again.</Empty>
          ) : (
            <ul className="flex flex-col gap-2">
              {items.map((s) => (
                <li key={s.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-lg border border-line bg-surface p-3">
                  <Label tone={s.over ? "muted" : "info"}>{s.over ? "over" : s.task ? "task" : "message"}</Label>
                  <strong className="min-w-0 wrap-anywhere">{s.title}</strong>
                  <span className="text-muted wrap-anywhere">
                    {s.id}, to {s.to}, {whenOf(s)}
                  </span>
                  {s.next !== null && (
                    <span>
                      next <time dateTime={s.next}>{moment(s.next)}</time>
                    </span>
                  )}
                  {s.last && (
                    <span className={s.last.failed === undefined ? "text-muted" : "text-bad"}>
                      last <Ago at={s.last.at} /> ago{s.last.failed !== undefined && `: ${s.last.failed}`}
                    </span>
                  )}
                  <span className="ml-auto flex gap-2">
                    <Button onClick={() => run.mutate(s)}>Run now</Button>
                    <Confirm tone="bad" title={`Remove ${s.id}?`} text={`"${s.title}" no longer fires.`} action="Remove" onConfirm={() => remove.mutate(s.id)}>
                      Remove
                    </Confirm>
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      {adding && <Add onClose={() => add(false)} />}
    </div>
  );
}

function whenOf(s: Api<"Scheduled">): string {
  return s.at !== undefined && s.at !== "" ? `at ${s.at}` : s.every !== undefined && s.every !== "" ? `every ${s.every}` : `cron ${s.cron ?? ""}`;
}

function Add({ onClose }: { onClose: () => void }) {
  const [title, setTitle] = useState("");
  const [body, setBody] = useState("");
  const [to, setTo] = useState("supervisor");
  const [task, setTask] = useState(false);
  const [how, setHow] = useState<"at" | "every" | "cron">("at");
  const [when, setWhen] = useState("");
  const add = useOrder((entry: Api<"ScheduleIn">) => api.POST("/api/schedule", { body: entry }), ({ data }) => `${data?.id ?? "It"} is scheduled.`);
  const hints = { at: "A time, such as 22:00 or 2030-01-02 15:04.", every: "A span, such as 2h.", cron: "Five fields, such as 0 9 * * 1-5." };
  return (
    <Dialog title="Add to the schedule" open onOpenChange={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          add.mutate({ title: title.trim(), to, task, [how]: when.trim(), ...(body === "" ? {} : { body }) }, { onSuccess: onClose });
        }}
      >
        <Field label="Title">{(ids) => <Input {...ids} value={title} onChange={(e) => setTitle(e.target.value)} />}</Field>
        <Field label="Text">{(ids) => <Textarea {...ids} value={body} onChange={(e) => setBody(e.target.value)} />}</Field>
        <Field label="To">{(ids) => <Input {...ids} value={to} onChange={(e) => setTo(e.target.value)} />}</Field>
        <label className="flex items-center gap-2">
          <input type="checkbox" checked={task} onChange={(e) => setTask(e.target.checked)} />
          As a task, not as a message
        </label>
        <Field label="Times">{(ids) => <Select {...ids} options={["at", "every", "cron"]} value={how} onChange={(e) => setHow(e.target.value as typeof how)} />}</Field>
        <Field label="When" hint={hints[how]}>
          {(ids) => <Input {...ids} value={when} onChange={(e) => setWhen(e.target.value)} />}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="accent" busy={add.isPending} disabled={title.trim() === "" || when.trim() === ""}>
            Add
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
