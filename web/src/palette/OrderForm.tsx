import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { problemOf, hooks } from "@/api/client";
import { callOf, missing, type Filled, type Order } from "@/palette/orders";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input, Select, Textarea } from "@/ui/field";
import { useOrder } from "@/ui/toasts";

async function carryOut({ order, filled }: { order: Order; filled: Filled }): Promise<unknown> {
  const { method, url, body } = callOf(order, filled);
  const response = await fetch(url, { method, ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }) });
  const said: unknown = await response.json().catch(() => undefined);
  if (!response.ok) {
    throw problemOf(response.status, said);
  }
  return said;
}

/** Asks what an order takes, and gives it. */
export function OrderForm({ order, onClose }: { order: Order; onClose: () => void }) {
  const [filled, fill] = useState<Filled>({});
  const client = useQueryClient();
  const agents = hooks.useQuery("get", "/api/agents");
  const give = useOrder(carryOut, `${order.summary}: done.`);
  const lacking = missing(order, filled);
  const suggestions = order.path.startsWith("/api/agents/{name}") ? (agents.data?.items ?? []).map((a) => a.name) : [];
  return (
    <Dialog title={order.summary} description={`${order.method} ${order.path}`} open onOpenChange={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          give.mutate(
            { order, filled },
            {
              onSuccess: () => {
                void client.invalidateQueries();
                onClose();
              },
            },
          );
        }}
      >
        {order.takes.map((a) => {
          const value = filled[a.name] ?? "";
          const set = (next: string) => fill({ ...filled, [a.name]: next });
          const label = a.required ? a.name : `${a.name} (optional)`;
          return (
            <Field key={`${a.in} ${a.name}`} label={label} hint={a.about === "" ? undefined : a.about}>
              {(ids) =>
                a.values.length > 0 ? (
                  <Select {...ids} options={a.required ? ["", ...a.values] : [["", "not said"] as const, ...a.values]} value={value} onChange={(e) => set(e.target.value)} />
                ) : a.type === "boolean" ? (
                  <Select
                    {...ids}
                    options={[
                      ["", "no"],
                      ["true", "yes"],
                    ]}
                    value={value}
                    onChange={(e) => set(e.target.value)}
                  />
                ) : a.type === "array" || a.type === "object" || ["text", "body", "what", "task", "comment"].includes(a.name) ? (
                  <Textarea {...ids} placeholder={a.type === "array" ? "one in each line" : a.type === "object" ? "{}" : undefined} value={value} onChange={(e) => set(e.target.value)} />
                ) : (
                  <>
                    <Input {...ids} list={a.in === "path" && suggestions.length > 0 ? `${ids.id}-known` : undefined} inputMode={a.type === "integer" || a.type === "number" ? "numeric" : undefined} value={value} onChange={(e) => set(e.target.value)} />
                    {a.in === "path" && suggestions.length > 0 && (
                      <datalist id={`${ids.id}-known`}>
                        {suggestions.map((s) => (
                          <option key={s} value={s} />
                        ))}
                      </datalist>
                    )}
                  </>
                )
              }
            </Field>
          );
        })}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone={order.method === "DELETE" ? "bad" : "accent"} busy={give.isPending} disabled={lacking.length > 0}>
            {order.method === "DELETE" ? "Do it" : "Give the order"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
