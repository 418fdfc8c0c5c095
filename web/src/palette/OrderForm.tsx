import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { hooks, Problem, problemOf } from "@/api/client";
import { labelOf } from "@/palette/commands";
import { callOf, isList, knownFrom, missing, shape, told, wrong, type Argument, type Filled, type Order } from "@/palette/orders";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input, Select, Textarea } from "@/ui/field";
import { useOrder } from "@/ui/toasts";

async function carryOut({ order, filled }: { order: Order; filled: Filled }): Promise<unknown> {
  const { method, url, body } = callOf(order, filled);
  const response = await fetch(url, { method, ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }) }).catch(() => {
    throw new Problem(0, "The server does not answer.");
  });
  const said: unknown = await response.json().catch(() => undefined);
  if (!response.ok) {
    throw problemOf(response.status, said);
  }
  return said;
}

/** Asks what an order takes, and gives it. One that ends something says so first, and asks. */
export function OrderForm({ order, label, onClose }: { order: Order; label: string; onClose: () => void }) {
  const [filled, fill] = useState<Filled>({});
  const [asks, ask] = useState(false);
  const client = useQueryClient();
  const known = useKnown(order, filled);
  const given = useOrder(carryOut, `${label}: done.`);
  const give = () =>
    given.mutate(
      { order, filled },
      {
        onSuccess: () => {
          void client.invalidateQueries();
          onClose();
        },
        onError: () => ask(false),
      },
    );
  const unready = missing(order, filled).length > 0 || order.takes.some((a) => wrong(a, filled) !== undefined);
  if (asks) {
    return (
      <Dialog title={`${label}?`} open onOpenChange={onClose}>
        <div className="flex flex-col gap-3">
          <p>{order.ends}</p>
          <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
            {order.takes
              .filter((a) => (filled[a.name] ?? "").trim() !== "")
              .map((a) => (
                <div key={`${a.in} ${a.name}`} className="contents">
                  <dt className="text-muted">{labelOf(order, a)}</dt>
                  <dd className="line-clamp-6 min-w-0 whitespace-pre-wrap wrap-anywhere">{filled[a.name]}</dd>
                </div>
              ))}
          </dl>
          <div className="flex justify-end gap-2">
            <Button autoFocus onClick={() => ask(false)}>
              Back
            </Button>
            <Button tone="bad" busy={given.isPending} onClick={give}>
              {label}
            </Button>
          </div>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title={label} open onOpenChange={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          if (order.ends !== "") {
            ask(true);
          } else {
            give();
          }
        }}
      >
        {order.takes.map((a) => (
          <Taken key={`${a.in} ${a.name}`} argument={a} label={labelOf(order, a)} value={filled[a.name] ?? ""} error={wrong(a, filled)} known={known(a)} set={(next) => fill((was) => ({ ...was, [a.name]: next }))} />
        ))}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone={order.ends === "" ? "accent" : "bad"} busy={given.isPending} disabled={unready}>
            {order.ends === "" ? label : `${label}…`}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface Known {
  value: string;
  about: string;
}

/** The values that an argument can have, as far as they are known. */
function useKnown(order: Order, filled: Filled): (a: Argument) => readonly Known[] {
  const of = new Set(order.takes.map((a) => knownFrom(order, a)));
  const agents = hooks.useQuery("get", "/api/agents", {}, { enabled: of.has("agents") });
  const rooms = hooks.useQuery("get", "/api/rooms", { params: { query: { limit: 1000 } } }, { enabled: of.has("rooms") });
  const runs = hooks.useQuery("get", "/api/runs", { params: { query: { limit: 50 } } }, { enabled: of.has("runs") });
  const tasks = hooks.useQuery("get", "/api/tasks", { params: { query: { limit: 200 } } }, { enabled: of.has("tasks") });
  const run = (runs.data?.items ?? []).find((r) => r.id === filled.id?.trim())?.id;
  const graph = hooks.useQuery("get", "/api/runs/{id}/graph", { params: { path: { id: run ?? "" } } }, { enabled: of.has("nodes") && run !== undefined });
  return (a) => {
    switch (knownFrom(order, a)) {
      case "agents":
        return (agents.data?.items ?? []).map((x) => ({ value: x.name, about: `${x.name}, ${x.state}` }));
      case "rooms":
        return (rooms.data?.items ?? []).map(({ room: x }) => ({ value: x.name, about: `${x.name}, ${x.label}` }));
      case "runs":
        return (runs.data?.items ?? []).map((x) => ({ value: x.id, about: `${x.session}, ${x.state}` }));
      case "tasks":
        return (tasks.data?.items ?? []).map((x) => ({ value: x.id, about: `${x.id} ${x.title}` }));
      case "nodes":
        return (graph.data?.nodes ?? []).map((x) => ({ value: x.name, about: `${x.name}, ${x.label}` }));
      case undefined:
        return [];
    }
  };
}

interface TakenProps {
  argument: Argument;
  label: string;
  value: string;
  error: string | undefined;
  known: readonly Known[];
  set: (value: string) => void;
}

const long = new Set(["text", "body", "what", "task", "comment"]);

function Taken({ argument: a, label, value, error, known, set }: TakenProps) {
  const about = told(a);
  const isJson = a.type === "object" || isList(a);
  return (
    <Field label={a.required ? label : `${label} (optional)`} hint={about === "" ? undefined : about} error={error}>
      {(ids) => {
        if (a.values.length > 0) {
          return <Select {...ids} options={[["", a.required ? "choose one" : "default"] as const, ...a.values]} value={value} onChange={(e) => set(e.target.value)} />;
        }
        if (a.type === "boolean") {
          return (
            <Select
              {...ids}
              options={[
                ["", a.required ? "choose one" : "default"],
                ["true", "yes"],
                ["false", "no"],
              ]}
              value={value}
              onChange={(e) => set(e.target.value)}
            />
          );
        }
        if (isJson || a.type === "array" || long.has(a.name)) {
          return <Textarea {...ids} className={isJson ? "font-mono" : ""} placeholder={isJson ? shape(a) : a.type === "array" ? "one in each line" : undefined} value={value} onChange={(e) => set(e.target.value)} />;
        }
        const list = known.length > 0 ? `${ids.id}-known` : undefined;
        return (
          <>
            <Input {...ids} list={list} inputMode={a.type === "integer" || a.type === "number" ? "numeric" : undefined} value={value} onChange={(e) => set(e.target.value)} />
            {list !== undefined && (
              <datalist id={list}>
                {known.map((k) => (
                  <option key={k.value} value={k.value} label={k.about} />
                ))}
              </datalist>
            )}
          </>
        );
      }}
    </Field>
  );
}
