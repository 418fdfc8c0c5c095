import { useState } from "react";
import { Link, useParams } from "react-router";

import { hooks, type Api } from "@/api/client";
import { DeliveryView } from "@/review/DeliveryView";
import { asFirst, order, waits } from "@/review/order";
import { Merge } from "@/review/Merge";
import { count } from "@/ui/figures";
import { Page } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";
import { Tabs } from "@/ui/tabs";

/** Review and merge of a run: that of the address, or the newest. */
export default function ReviewPage() {
  const { id } = useParams();
  return id === undefined ? <Newest /> : <OfRun run={id} />;
}

function Newest() {
  const runs = hooks.useQuery("get", "/api/runs");
  return (
    <Answer query={runs}>
      {({ items }) => {
        const newest = items.toSorted((a, b) => (b.started_at ?? "").localeCompare(a.started_at ?? ""))[0];
        return newest ? (
          <OfRun run={newest.id} />
        ) : (
          <Page title="Review">
            <Empty title="There is no run yet">What nodes have finished is reviewed and merged here.</Empty>
          </Page>
        );
      }}
    </Answer>
  );
}

function OfRun({ run }: { run: string }) {
  const reviews = hooks.useQuery("get", "/api/runs/{id}/reviews", { params: { path: { id: run } } });
  const waiting = reviews.data?.items.filter(waits).length ?? 0;
  return (
    <Page
      title="Review"
      about={
        <>
          <Link to={`/runs/${encodeURIComponent(run)}`} className="inline-flex min-h-6 items-center text-accent underline">
            {`Run ${run}`}
          </Link>
          {reviews.data && <span>{`${count(waiting, "node")} to review`}</span>}
        </>
      }
    >
      <Tabs
        label="Review and merge"
        tabs={[
          {
            id: "review",
            label: "To review",
            badge: waiting,
            content: () => (
              <Answer query={reviews}>
                {({ items }) =>
                  items.length === 0 ? (
                    <Empty title="Nothing to review">Work appears here when a node is done.</Empty>
                  ) : (
                    <Deliveries key={run} run={run} items={items} />
                  )
                }
              </Answer>
            ),
          },
          { id: "merge", label: "Merge", content: () => <Merge run={run} /> },
        ]}
      />
    </Page>
  );
}

/** The work of all nodes. A decision moves nothing: the next click would meet another node's button. */
function Deliveries({ run, items }: { run: string; items: readonly Api<"Delivery">[] }) {
  const [first] = useState(() => order(items).map((w) => w.node));
  return (
    <ul className="flex flex-col gap-3 p-3">
      {asFirst(items, first).map((w) => (
        <li key={w.node}>
          <DeliveryView run={run} work={w} />
        </li>
      ))}
    </ul>
  );
}
