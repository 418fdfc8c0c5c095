import type { Api } from "@/api/client";
import { stageOf } from "@/node/words";
import { duration, worked } from "@/runs/figures";
import { Ago, exact } from "@/ui/time";

interface Timed {
  since: string | null | undefined;
  spans: readonly { began_at: string; ended_at: string | null }[];
  status: { state: Api<"DagNodeState">; reason?: string };
}

/** How long a node that is over took, and since when one is as it is that works or asks; else nothing. */
export function NodeTime({ node: { since, spans, status }, className }: { node: Timed; className?: string }) {
  const stage = stageOf(status);
  if (stage === "works" || stage === "asks") {
    return typeof since === "string" && <Ago at={since} className={className ?? ""} />;
  }
  const seconds = worked(spans);
  return (
    seconds !== undefined && (
      <span className={className} title={typeof since === "string" ? `Worked for ${duration(seconds)}, until ${exact(since)}` : undefined}>
        {duration(seconds)}
      </span>
    )
  );
}
