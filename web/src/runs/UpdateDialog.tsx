import { useState } from "react";

import { api, hooks } from "@/api/client";
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
        Update
      </Button>
      <Dialog wide title="Update the run" open={open} onOpenChange={setOpen}>
        <Changes run={run} done={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function Changes({ run, done }: { run: string; done: () => void }) {
  const params = { params: { path: { id: run } } };
  // The configuration is a file: no event says that it was edited.
  const update = hooks.useQuery("get", "/api/runs/{id}/update", params, { staleTime: 0, gcTime: 0 });
  const apply = useOrder(
    async (sum: string) => {
      const out = await api.POST("/api/runs/{id}/update", { ...params, body: { sum } });
      done();
      return out;
    },
    (out) => out.data?.note ?? "The run is updated.",
  );
  return (
    <Answer query={update}>
      {({ changes, sum }) =>
        changes.length === 0 ? (
          <p>The configuration says what the run does already.</p>
        ) : (
          <div className="flex flex-col gap-3">
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
