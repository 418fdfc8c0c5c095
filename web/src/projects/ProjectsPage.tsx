import { useState } from "react";

import { api, hooks, type Api } from "@/api/client";
import { Button } from "@/ui/button";
import { Confirm, Dialog } from "@/ui/dialog";
import { Field, Input, Textarea } from "@/ui/field";
import { Label } from "@/ui/label";
import { Page, Panel } from "@/ui/page";
import { Answer } from "@/ui/states";
import { useOrder } from "@/ui/toasts";

/** The projects that the organization looks after, and the sessions beside its own. */
export default function ProjectsPage() {
  const projects = hooks.useQuery("get", "/api/projects", { params: { query: { limit: 1000 } } });
  const sessions = hooks.useQuery("get", "/api/sessions", { params: { query: { limit: 1000 } } });
  const [open, setOpen] = useState<"project" | "session">();
  const at = (name: string) => ({ params: { path: { name } } });
  const activate = useOrder((name: string) => api.POST("/api/projects/{name}/activate", at(name)), (_, name) => `The supervisor of ${name} starts.`);
  const drop = useOrder((name: string) => api.DELETE("/api/projects/{name}", at(name)), (_, name) => `${name} is no longer looked after.`);
  const end = useOrder((name: string) => api.DELETE("/api/sessions/{name}", at(name)), (_, name) => `The agents of ${name} are removed.`);
  const line = "flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line py-2 last:border-0";
  return (
    <Page title="Projects">
      <div className="flex flex-col gap-4 p-4">
        <Panel title="Registered projects" actions={<Button onClick={() => setOpen("project")}>Register a project</Button>}>
          <Answer query={projects}>
            {({ items }) =>
              items.length === 0 ? (
                <p className="text-muted">The organization looks after this project alone.</p>
              ) : (
                <ul>
                  {items.map((p) => (
                    <li key={p.name} className={line}>
                      <strong className="wrap-anywhere">{p.name}</strong>
                      <Label tone={p.active ? "ok" : "muted"}>{p.active ? "active" : "not active"}</Label>
                      {p.state !== "" && <Label>{p.state}</Label>}
                      <code className="min-w-0 text-muted wrap-anywhere">{p.dir}</code>
                      <span className="ml-auto flex gap-2">
                        {!p.active && <Button onClick={() => activate.mutate(p.name)}>Activate</Button>}
                        <Confirm tone="bad" title={`Stop looking after ${p.name}?`} text="Its supervisor here is ended and what it leaves is kept. Its folder is not touched." action="Stop" onConfirm={() => drop.mutate(p.name)}>
                          Remove
                        </Confirm>
                      </span>
                    </li>
                  ))}
                </ul>
              )
            }
          </Answer>
        </Panel>
        <Panel title="Sessions" ready={!projects.isPending} actions={<Button onClick={() => setOpen("session")}>Make a session</Button>}>
          <Answer query={sessions}>
            {({ items }) =>
              items.length === 0 ? (
                <p className="text-muted">There is no session beside the organization's own.</p>
              ) : (
                <ul>
                  {items.map((s) => (
                    <li key={s.name} className={line}>
                      <strong className="wrap-anywhere">{s.name}</strong>
                      {s.state !== "" && <Label>{s.state}</Label>}
                      <span className="text-muted wrap-anywhere">{s.agents.join(", ")}</span>
                      <span className="ml-auto">
                        <Confirm tone="bad" title={`Remove session ${s.name}?`} text="Its agents are ended. What they leave is kept." action="Remove" onConfirm={() => end.mutate(s.name)}>
                          Remove
                        </Confirm>
                      </span>
                    </li>
                  ))}
                </ul>
              )
            }
          </Answer>
        </Panel>
      </div>
      {open === "project" && <RegisterProjectDialog onClose={() => setOpen(undefined)} />}
      {open === "session" && <SessionDialog onClose={() => setOpen(undefined)} />}
    </Page>
  );
}

function RegisterProjectDialog({ onClose }: { onClose: () => void }) {
  const [dir, setDir] = useState("");
  const [name, setName] = useState("");
  const register = useOrder((body: Api<"PostProjectsRequest">) => api.POST("/api/projects", { body }), ({ data }) => `${data?.name ?? "The project"} is registered.`);
  return (
    <Dialog title="Register a project" description="The organization then looks after that project too, with a supervisor of its own there." open onOpenChange={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          register.mutate({ dir: dir.trim(), ...(name.trim() === "" ? {} : { name: name.trim() }) }, { onSuccess: onClose });
        }}
      >
        <Field label="Folder" hint="The whole path of a git repository on the server's machine.">
          {(ids) => <Input {...ids} value={dir} onChange={(e) => setDir(e.target.value)} />}
        </Field>
        <Field label="Name" hint="Empty: the name of the folder.">
          {(ids) => <Input {...ids} value={name} onChange={(e) => setName(e.target.value)} />}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="accent" busy={register.isPending} disabled={dir.trim() === ""}>
            Register
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function SessionDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [task, setTask] = useState("");
  const make = useOrder((body: Api<"SpawnSession">) => api.POST("/api/sessions", { body }), ({ data }) => `Session ${data?.name ?? ""} is made.`);
  return (
    <Dialog title="Make a session" description="A session has a supervisor of its own." open onOpenChange={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          make.mutate({ name: name.trim(), ...(task.trim() === "" ? {} : { task: task.trim() }) }, { onSuccess: onClose });
        }}
      >
        <Field label="Name">{(ids) => <Input {...ids} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
        <Field label="First task">{(ids) => <Textarea {...ids} value={task} onChange={(e) => setTask(e.target.value)} />}</Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="accent" busy={make.isPending} disabled={name.trim() === ""}>
            Make it
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
