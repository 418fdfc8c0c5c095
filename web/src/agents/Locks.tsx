import { useState } from "react";

import { api, hooks } from "@/api/client";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";
import { Field, Input } from "@/ui/field";
import { Answer, Empty } from "@/ui/states";
import { Ago } from "@/ui/time";
import { useOrder } from "@/ui/toasts";

/** What one agent at a time may use. */
export function Locks() {
  const locks = hooks.useQuery("get", "/api/locks", { params: { query: { limit: 1000 } } });
  const at = (name: string) => ({ params: { path: { name } } });
  const [typed, type] = useState("");
  const take = useOrder((name: string) => api.POST("/api/locks/{name}/take", { ...at(name), body: {} }), (_, name) => `${name} is yours until you give it back.`);
  const release = useOrder((name: string) => api.POST("/api/locks/{name}/release", at(name)), (_, name) => `${name} is given back.`);
  const cut = useOrder((name: string) => api.POST("/api/locks/{name}/break", at(name)), (_, name) => `${name} is free.`);
  return (
    <div className="flex flex-col gap-3 p-4">
      <form
        className="flex max-w-96 items-end gap-2"
        onSubmit={(e) => {
          e.preventDefault();
          take.mutate(typed.trim(), { onSuccess: () => type("") });
        }}
      >
        <div className="grow">
          <Field label="Name of a lock">{(ids) => <Input {...ids} value={typed} onChange={(e) => type(e.target.value)} />}</Field>
        </div>
        <Button type="submit" busy={take.isPending} disabled={typed.trim() === ""}>
          Take lock
        </Button>
      </form>
      <Answer query={locks}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No lock is held">An agent takes one for what only one may use at a time, such as a port or a device.</Empty>
          ) : (
            <ul className="flex flex-col gap-2">
              {items.map((l) => (
                <li key={l.name} className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-lg border border-line bg-surface p-3">
                  <strong className="wrap-anywhere">{l.name}</strong>
                  <span>
                    {l.holder ? `held by ${l.holder.who}` : "free"} {l.since !== null && <Ago at={l.since} className="text-muted" />}
                  </span>
                  {l.note !== undefined && l.note !== "" && <span className="text-muted wrap-anywhere">{l.note}</span>}
                  {l.waiting.length > 0 && <span className="text-warn">{l.waiting.map((w) => w.who).join(", ")} waits</span>}
                  <span className="ml-auto flex gap-2">
                    {l.holder?.who === "user" ? (
                      <Button onClick={() => release.mutate(l.name)}>Release</Button>
                    ) : (
                      l.holder && (
                        <Confirm tone="bad" title={`Break the lock ${l.name}?`} text={`It is taken away from ${l.holder.who}, which may still use what it stands for.`} action="Break it" onConfirm={() => cut.mutate(l.name)}>
                          Break
                        </Confirm>
                      )
                    )}
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </div>
  );
}
