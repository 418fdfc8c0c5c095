import { useState } from "react";

import { api, hooks } from "@/api/client";
import { took } from "@/node/words";
import { Job } from "@/review/Job";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { useOrder } from "@/ui/toasts";

/** Runs a node's checks now, and shows what they write. */
export function Verify({ run, node }: { run: string; node: string }) {
  const [open, setOpen] = useState(false);
  const params = { params: { path: { id: run, node } } };
  const begin = useOrder(() => api.POST("/api/runs/{id}/nodes/{node}/verify", params));
  const job = hooks.useQuery("get", "/api/runs/{id}/nodes/{node}/verify", params, { enabled: open, refetchInterval: ({ state }) => (state.data?.running === true ? 700 : false) });
  return (
    <>
      <Button
        busy={begin.isPending}
        onClick={() =>
          begin.mutate(undefined, {
            onSuccess: () => {
              setOpen(true);
              void job.refetch();
            },
          })
        }
      >
        Verify now
      </Button>
      <Dialog title={`Checks of ${node}`} open={open} onOpenChange={setOpen} wide>
        {job.data && (
          <Job job={job.data}>
            <ul>
              {(job.data.result ?? []).map((c, i) => (
                <li key={i} className="wrap-anywhere">
                  <code>{c.command}</code> {c.failed === undefined || c.failed === "" ? `passed in ${took(c.took)}` : <span className="text-bad">{c.failed}</span>}
                </li>
              ))}
            </ul>
          </Job>
        )}
      </Dialog>
    </>
  );
}
