import { useMemo, useState } from "react";
import { useNavigate } from "react-router";

import { api, hooks, type Api } from "@/api/client";
import { hasFailed } from "@/runs/figures";
import { merged } from "@/runs/difference";
import { Flow } from "@/runs/graph/Flow";
import { differenceCard } from "@/runs/NodeCard";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Answer } from "@/ui/states";
import { useOrder } from "@/ui/toasts";

/** What the edited configuration would change in a run, and the order to take it in. */
export function UpdateButton({ run, accent = false, disabled = false }: { run: string; accent?: boolean; disabled?: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button tone={accent ? "accent" : "plain"} disabled={disabled} onClick={() => setOpen(true)}>
        Update run
      </Button>
      <Dialog wide title="Update the run" open={open} onOpenChange={setOpen}>
        <Changes run={run} done={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

/** The graph as the run would have it, with what is new, changed or removed. */
function Drawn({ run, changes }: { run: string; changes: readonly Api<"Change">[] }) {
  const once = { staleTime: 0, gcTime: 0 };
  const now = hooks.useQuery("get", "/api/runs/{id}/graph", { params: { path: { id: run } } });
  const file = hooks.useQuery("get", "/api/graph", {}, { refetchOnMount: "always" });
  const text = file.data?.text ?? "";
  const check = hooks.useQuery("post", "/api/graph/check", { body: { text } }, { ...once, enabled: file.data !== undefined });
  const nodes = useMemo(() => merged(now.data?.nodes ?? [], check.data?.nodes ?? [], changes), [now.data, check.data, changes]);
  if (now.data === undefined || check.data === undefined || check.data.faults.length > 0) {
    return <div className="h-56" />; // the room that it takes
  }
  return (
    <div className="flex h-56 flex-col rounded-md border border-line bg-canvas">
      <Flow label="Graph after the update" nodes={nodes} critical={noChain} card={differenceCard} />
    </div>
  );
}

const noChain: readonly string[] = [];

function Changes({ run, done }: { run: string; done: () => void }) {
  const params = { params: { path: { id: run } } };
  // The configuration is a file: no event says that it was edited.
  const update = hooks.useQuery("get", "/api/runs/{id}/update", params, { staleTime: 0, gcTime: 0 });
  const failed = (hooks.useQuery("get", "/api/runs/{id}/graph", params).data?.nodes ?? []).filter(hasFailed).map((n) => n.name);
  const navigate = useNavigate();
  const apply = useOrder(
    async (sum: string) => {
      const out = await api.POST("/api/runs/{id}/update", { ...params, body: { sum } });
      done();
      void navigate(`/runs/${run}`); // there it is seen, and what failed is retried
      return out;
    },
    (out) => [out.data?.note ?? "The run is updated.", failed.length > 0 && `It does not retry what failed before: ${failed.join(", ")}.`].filter(Boolean).join(" "),
  );
  return (
    <Answer query={update}>
      {({ changes, sum }) =>
        changes.length === 0 ? (
          <p>The configuration says what the run does already.</p>
        ) : (
          <div className="flex flex-col gap-3">
            <Drawn run={run} changes={changes} />
            <div className="overflow-x-auto" tabIndex={0} role="group" aria-label="Changes">
              <table className="w-full border-collapse text-left">
                <thead>
                  <tr className="border-b border-line">
                    <th scope="col" className="p-1.5">Node</th>
                    <th scope="col" className="p-1.5">What changes</th>
                    <th scope="col" className="p-1.5">What comes of it</th>
                  </tr>
                </thead>
                <tbody>
                  {changes.map((c, i) => (
                    <tr key={i} className="border-b border-line align-top">
                      <td className="p-1.5 font-medium wrap-anywhere">{c.name}</td>
                      <td className="p-1.5 wrap-anywhere">{c.what}</td>
                      <td className="p-1.5 wrap-anywhere">{c.then}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            <div className="flex justify-end">
              <Button tone="accent" busy={apply.isPending} onClick={() => apply.mutate(sum)}>
                Update the run
              </Button>
            </div>
          </div>
        )
      }
    </Answer>
  );
}
