import { hooks } from "@/api/client";
import { WorkReview } from "@/review/WorkReview";
import { Answer } from "@/ui/states";

/** The work of one node, and what is decided about it. */
export function NodeReview({ run, node }: { run: string; node: string }) {
  const work = hooks.useQuery("get", "/api/runs/{id}/nodes/{node}/review", { params: { path: { id: run, node } } });
  return <Answer query={work}>{(w) => <WorkReview run={run} work={w} />}</Answer>;
}
