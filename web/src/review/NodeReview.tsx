import { hooks } from "@/api/client";
import { DeliveryView } from "@/review/DeliveryView";
import { Answer } from "@/ui/states";

/** The work of one node, and what is decided about it. */
export function NodeReview({ run, node }: { run: string; node: string }) {
  const work = hooks.useQuery("get", "/api/runs/{id}/nodes/{node}/review", { params: { path: { id: run, node } } });
  return (
    <div className="p-3">
      <Answer query={work}>{(w) => <DeliveryView run={run} work={w} />}</Answer>
    </div>
  );
}
