import { useState } from "react";

import { api, hooks, type Api } from "@/api/client";
import { Confirm } from "@/ui/dialog";
import { count } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Panel } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";
import { useOrder } from "@/ui/toasts";

type Item = Api<"UpkeepItem">;

const keyOf = (i: Item) => `${i.kind} ${i.name} ${i.do}`;

/** What the organization no longer needs; what is in it is saved before it is removed. */
export function Maintenance() {
  const upkeep = hooks.useQuery("get", "/api/maintenance", {}, { staleTime: 5000 });
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const [done, setDone] = useState<readonly Api<"Upkept">[]>([]);
  const remove = useOrder(
    async (items: Item[]) => {
      const { data } = await api.POST("/api/maintenance", { body: { items } });
      setDone(data?.items ?? []);
      choose(new Set());
      await upkeep.refetch();
      return data;
    },
    (data) => `${count(data?.items.filter((i) => i.done !== undefined).length ?? 0, "thing")} done.`,
  );
  return (
    <Answer query={upkeep}>
      {({ items, allowed }) => (
        <div className="flex flex-col gap-3 p-4">
          <p className="text-muted">{allowed.length === 0 ? "cmux removes nothing of this by itself." : `cmux removes these by itself: ${allowed.join(", ")}.`}</p>
          {items.length === 0 ? (
            <Empty title="There is nothing to remove" />
          ) : (
            <>
              <div>
                <Confirm
                  tone="bad"
                  disabled={chosen.size === 0}
                  busy={remove.isPending}
                  title={`Remove ${count(chosen.size, "thing")}?`}
                  text="What is in them is saved first: snapshots and archives say how to restore it."
                  action="Remove"
                  onConfirm={() => remove.mutate(items.filter((i) => chosen.has(keyOf(i))))}
                >
                  Remove what is chosen
                </Confirm>
              </div>
              <ul className="flex flex-col gap-2">
                {items.map((i) => (
                  <li key={keyOf(i)}>
                    <label className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-lg border border-line bg-surface p-3">
                      <input
                        type="checkbox"
                        disabled={i.kind === "archives"}
                        checked={chosen.has(keyOf(i))}
                        onChange={(e) => {
                          const next = new Set(chosen);
                          if (e.target.checked) {
                            next.add(keyOf(i));
                          } else {
                            next.delete(keyOf(i));
                          }
                          choose(next);
                        }}
                      />
                      <Label tone="muted">{i.kind}</Label>
                      <strong className="wrap-anywhere">{i.name}</strong>
                      <span>{i.do}</span>
                      <span className="min-w-0 text-muted wrap-anywhere">{i.why}</span>
                    </label>
                  </li>
                ))}
              </ul>
            </>
          )}
          {done.length > 0 && (
            <Panel title="What became of it">
              <ul>
                {done.map((d, n) => (
                  <li key={n} className={`wrap-anywhere ${d.failed === undefined ? "" : "text-bad"}`}>
                    {d.name}: {d.failed ?? d.done ?? `left as it is: ${d.left ?? "nothing was done"}`} {d.restore !== undefined && <code>{d.restore}</code>}
                  </li>
                ))}
              </ul>
            </Panel>
          )}
        </div>
      )}
    </Answer>
  );
}
