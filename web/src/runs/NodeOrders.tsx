import { Check, FastForward, RotateCcw, Square, Undo2 } from "lucide-react";

import { useNodeOrders } from "@/runs/orders";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";
import { steadyClass, useSteady } from "@/ui/useSteady";

/** The buttons of a node: those of its orders that fit it as it stands. Only a failed node is most often retried. */
export function NodeOrders({ run, node, orders, failed, gate = false }: { run: string; node: string; orders: readonly string[]; failed: boolean; gate?: boolean }) {
  const give = useNodeOrders(run, node);
  const fits = (name: string) => orders.includes(name);
  const steady = useSteady(`${run} ${node} ${orders.join(" ")}`); // with other orders, another button stands in the same place
  return (
    <div className={`flex flex-wrap gap-1.5 ${steadyClass(steady)}`}>
      {fits("approve") && (
        <Button tone="accent" icon={<Check aria-hidden size={15} />} busy={give.approve.isPending} onClick={() => give.approve.mutate()}>
          Approve
        </Button>
      )}
      {fits("release") && (
        <Button tone="accent" icon={<Undo2 aria-hidden size={15} />} busy={give.release.isPending} onClick={() => give.release.mutate()}>
          Release
        </Button>
      )}
      {fits("retry") && (
        <>
          <Button tone={failed ? "accent" : "plain"} icon={<RotateCcw aria-hidden size={15} />} busy={give.retry.isPending} onClick={() => give.retry.mutate({})}>
            Retry
          </Button>
          <Confirm
            title={`Retry ${node} from the base?`}
            text="Its work is saved as a snapshot, and it starts from the base again."
            action="Retry from the base"
            busy={give.retry.isPending}
            onConfirm={() => give.retry.mutate({ fresh: true })}
          >
            Retry from the base
          </Confirm>
        </>
      )}
      {fits("override") && (
        <Confirm
          title={`Call ${node} done?`}
          text="Marks the node done, whatever its own result. Its dependents start."
          action="Override"
          icon={<FastForward aria-hidden size={15} />}
          busy={give.override.isPending}
          onConfirm={() => give.override.mutate()}
        >
          Override
        </Confirm>
      )}
      {fits("stop") && (
        <Confirm
          title={`Cancel the node ${node}?`}
          text={gate ? "Nothing is approved. What waits for it is blocked." : "Its agent is ended and its work is kept. What waits for it is blocked."}
          action="Cancel the node"
          tone="bad"
          icon={<Square aria-hidden size={15} />}
          busy={give.stop.isPending}
          onConfirm={() => give.stop.mutate()}
        >
          Cancel node
        </Confirm>
      )}
    </div>
  );
}
