import { useState } from "react";

import { give } from "@/agents/give";
import { hooks, type Api } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input, Select, Textarea } from "@/ui/field";
import { useOrder } from "@/ui/toasts";

/** Spawns a worker. What is left empty is as the configuration says. */
export function SpawnDialog({ task = "", onClose }: { task?: string; onClose: () => void }) {
  const [fields, setFields] = useState<Record<"name" | "agent" | "model" | "account" | "role" | "branch" | "task", string>>({
    name: "",
    agent: "",
    model: "",
    account: "",
    role: "",
    branch: "",
    task,
  });
  const [stays, setStays] = useState<"worker" | "once" | "permanent">("worker");
  const spawn = useOrder(give.spawn, ({ data }) => `${data?.name ?? "The worker"} starts.`);
  const open = (hooks.useQuery("get", "/api/tasks", { params: { query: { limit: 200 } } }).data?.items ?? []).filter((t) => t.state === "open" && !t.backlog && (task === "" || t.id === task)).slice(0, 5);
  const input = (key: keyof typeof fields, label: string, hint: string) => (
    <Field label={label} hint={hint}>
      {(ids) => <Input {...ids} value={fields[key]} autoComplete="off" onChange={(e) => setFields({ ...fields, [key]: e.target.value })} />}
    </Field>
  );
  return (
    <Dialog title="Spawn a worker" open onOpenChange={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          const said = Object.fromEntries(Object.entries(fields).filter(([, v]) => v.trim() !== ""));
          const { role, task: first, ...rest } = said;
          const begins = first === undefined ? {} : /^t\d+$/.test(first.trim()) ? { task_id: first.trim() } : { task: first };
          const kept = stays === "permanent" ? { permanent: role ?? "" } : { ...(role === undefined ? {} : { role }), once: stays === "once" };
          const body: Api<"Spawn"> = { ...rest, ...begins, ...kept, name: fields.name.trim() };
          spawn.mutate(body, { onSuccess: onClose });
        }}
      >
        {input("name", "Name", "Lowercase letters, digits and hyphens.")}
        <Field label="First task" hint="A new task in words, or the id of an open one, such as t12. Empty: it waits for one.">
          {(ids) => <Textarea {...ids} value={fields.task} onChange={(e) => setFields({ ...fields, task: e.target.value })} />}
        </Field>
        {open.length > 0 && (
          <div role="group" aria-label="Open tasks" className="flex flex-wrap gap-1.5">
            {open.map((t) => (
              <Button key={t.id} className="max-w-full" aria-pressed={fields.task === t.id} onClick={() => setFields({ ...fields, task: t.id })}>
                <span className="truncate">{`${t.id} ${t.title}`}</span>
              </Button>
            ))}
          </div>
        )}
        <details open={stays === "permanent" || undefined}>
          <summary className="min-h-8 text-muted">Program, model, role, branch</summary>
          <div className="mt-2 flex flex-col gap-3">
        {input("agent", "Agent program", "Empty: as config.yml says.")}
        {input("model", "Model", "Empty: as config.yml or the program says.")}
        {input("account", "Account", "Empty: the program's own.")}
        {input("role", "Role", "What it is, such as tester. A permanent worker needs one.")}
        {input("branch", "Branch", "Empty: each task has one of its own.")}
          </div>
        </details>
        <Field label="When its work is done">
          {(ids) => (
            <Select
              {...ids}
              options={[
                ["worker", "It waits for the next task"],
                ["once", "It is removed"],
                ["permanent", "It stays, and only a person removes it (permanent)"],
              ]}
              value={stays}
              onChange={(e) => setStays(e.target.value as typeof stays)}
            />
          )}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="accent" busy={spawn.isPending} disabled={fields.name.trim() === "" || (stays === "permanent" && fields.role.trim() === "")}>
            Spawn
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
