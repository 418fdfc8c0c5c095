import type { Api } from "@/api/client";
import { type Action, actionsOf } from "@/needs/actions";
import { Decisions } from "@/review/Decisions";

type Need = Api<"Need">;

/** The decisions about a work. Whether it can be sent back is known with its case: until then they keep their place. */
export function ReviewButtons({ need, review, failed, give }: { need: Need; review: Api<"Case">["review"] | undefined; failed: boolean; give: (a: Action) => void }) {
  const waits = review === undefined && !failed;
  return (
    <div className={`flex flex-wrap items-center gap-1.5 ${waits ? "invisible" : ""}`}>
      <Decisions source={{ kind: "node", run: need.run ?? "", node: need.name }} actions={actionsOf(need)} reads={review?.reads ?? waits} reviewers={review?.reviews.map((r) => r.node) ?? []} give={give} />
    </div>
  );
}
