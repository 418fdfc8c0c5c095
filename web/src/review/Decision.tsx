import { Check, Trash2, Undo2 } from "lucide-react";
import { useState } from "react";

import { api, type Api } from "@/api/client";
import { Button } from "@/ui/button";
import { Confirm, Dialog } from "@/ui/dialog";
import { Field, Textarea } from "@/ui/field";
import { useOrder } from "@/ui/toasts";

type Body = Api<"PostRunsIdNodesNodeReviewRequest">;

/** Decides about the work of a node as it was looked at: what was committed since is not approved. */
export function Decision({ run, work }: { run: string; work: Api<"Delivery"> }) {
  const [back, setBack] = useState(false);
  const [comment, setComment] = useState("");
  const [downstream, setDownstream] = useState(false);
  const decide = useOrder(
    (body: Body) => api.POST("/api/runs/{id}/nodes/{node}/review", { params: { path: { id: run, node: work.node } }, body }),
    ({ data }, { verdict }) => {
      const waits = data?.waits ?? [];
      return `${work.node}: ${verdict}.${waits.length > 0 ? ` It is merged when this is approved too: ${waits.join(", ")}.` : ""}`;
    },
  );
  const at = work.commit === "" ? {} : { commit: work.commit };
  if (work.state === "nothing to review" || work.state === "merged") {
    return null;
  }
  return (
    <div className="flex flex-wrap gap-2">
      {work.state !== "approved" && (
        <Button tone="accent" icon={<Check aria-hidden size={16} />} busy={decide.isPending} onClick={() => decide.mutate({ verdict: "approved", ...at })} aria-label={`Approve ${work.node}`}>
          Approve
        </Button>
      )}
      {work.reads && (
        <Button icon={<Undo2 aria-hidden size={16} />} onClick={() => setBack(true)} aria-label={`Send ${work.node} back`}>
          Send back
        </Button>
      )}
      {work.state !== "dropped" && (
        <Confirm
          title={`Drop ${work.node}?`}
          text="Its work is left out of the merge, and so is what was built on it. The branch is kept, and you can approve it later."
          action="Drop"
          tone="bad"
          icon={<Trash2 aria-hidden size={16} />}
          aria-label={`Drop ${work.node}`}
          onConfirm={() => decide.mutate({ verdict: "dropped", ...at })}
        >
          Drop
        </Confirm>
      )}
      <Dialog title={`Send ${work.node} back`} description="Its agent continues the work with your comment." open={back} onOpenChange={setBack}>
        <form
          className="flex flex-col gap-3"
          onSubmit={(e) => {
            e.preventDefault();
            decide.mutate(
              { verdict: "sent back", comment: comment.trim(), ...(downstream ? { downstream } : {}), ...at },
              {
                onSuccess: () => {
                  setBack(false);
                  setComment("");
                },
              },
            );
          }}
        >
          <Field label="What is to change">{(ids) => <Textarea {...ids} value={comment} onChange={(e) => setComment(e.target.value)} />}</Field>
          <label className="flex items-center gap-2">
            <input type="checkbox" checked={downstream} onChange={(e) => setDownstream(e.target.checked)} />
            What was built on it runs again as well
          </label>
          <div className="flex justify-end gap-2">
            <Button onClick={() => setBack(false)}>Cancel</Button>
            <Button type="submit" tone="accent" busy={decide.isPending} disabled={comment.trim() === ""}>
              Send back
            </Button>
          </div>
        </form>
      </Dialog>
    </div>
  );
}
