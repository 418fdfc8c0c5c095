import { useEffect, useMemo, useState } from "react";
import { useSearchParams } from "react-router";

import { ActivityItem } from "@/activity/ActivityItem";
import { ActivityTimeline } from "@/activity/ActivityTimeline";
import { feed, ofEvent, ofFrame, passes, type Filter } from "@/activity/items";
import { ThoughtStream } from "@/activity/ThoughtStream";
import { useAgents } from "@/agents/agents";
import { hooks, type Api } from "@/api/client";
import { kept } from "@/live/fold";
import { useLog } from "@/live/store";
import { Field, Select } from "@/ui/field";
import { count } from "@/ui/figures";
import { VirtualList } from "@/ui/list";
import { Page } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";
import { Tabs } from "@/ui/tabs";

const kinds = [
  "session", "prompt", "thought", "text", "tool_use", "tool_result", "denied", "subagent", "request_failed", "interrupted", "compacted",
  "status", "question", "answer", "report", "check", "hand_back", "limit", "usage", "note", "end",
] as const satisfies readonly Api<"EventKind">[];

const sources: readonly (readonly [string, string])[] = [
  ["", "Everything"],
  ["agent:", "All agents"],
  ["run:", "All runs"],
  ["mailbox", "Messages"],
  ["tasks", "Tasks"],
  ["journal", "Journal"],
  ["incidents", "Incidents"],
  ["audit", "Orders and audit"],
];

/** All that happens, the newest first. */
export default function ActivityPage() {
  const [params, setParams] = useSearchParams();
  const filter: Filter = { source: params.get("source") ?? "", kind: params.get("kind") ?? "" };
  const agents = useAgents();
  const set = (key: string, value: string) =>
    setParams(
      (was) => {
        const next = new URLSearchParams(was);
        if (value === "") {
          next.delete(key);
        } else {
          next.set(key, value);
        }
        return next;
      },
      { replace: true },
    );
  const known: (readonly [string, string])[] = [...sources, ...(agents.data?.items ?? []).map((a) => [`agent:${a.name}`, `Agent ${a.name}`] as const)];
  if (!known.some(([s]) => s === filter.source)) {
    known.push([filter.source, filter.source]);
  }
  return (
    <Page
      title="Activity"
      actions={
        <>
          <Field label="Where" hidden>
            {(ids) => <Select {...ids} options={known} value={filter.source} onChange={(e) => set("source", e.target.value)} />}
          </Field>
          <Field label="Kind" hidden>
            {(ids) => <Select {...ids} options={[["", "All kinds"] as const, ...kinds]} value={filter.kind} onChange={(e) => set("kind", e.target.value)} />}
          </Field>
        </>
      }
    >
      <Feed key={`${filter.source} ${filter.kind}`} filter={filter} />
    </Page>
  );
}

function Feed({ filter }: { filter: Filter }) {
  const query = { limit: 200, ...(filter.source === "" ? {} : { source: filter.source }), ...(filter.kind === "" ? {} : { kind: filter.kind }) };
  const events = hooks.useInfiniteQuery(
    "get",
    "/api/agent-events",
    { params: { query } },
    { pageParamName: "cursor", initialPageParam: "", getNextPageParam: (p: Api<"EventList">) => p.next },
  );
  const recent = useLog((l) => l.recent);
  const [thoughtsOf, setThoughtsOf] = useState("");
  const { data, refetch } = events;
  const asked = useMemo(() => data?.pages.flatMap((p) => p.items).map(ofEvent) ?? [], [data]);
  const head = data?.pages[0]?.head.seq ?? 0;
  const items = useMemo(
    () => feed(recent.map(ofFrame).filter((i) => passes(i, filter)), asked, head),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the key of this component is the filter
    [recent, asked, head],
  );
  // More came than is kept: what is between the two is asked for.
  const whole = recent.length < kept || (recent[0]?.seq ?? 0) <= head;
  useEffect(() => {
    if (!whole) {
      void refetch();
    }
  }, [whole, refetch]);
  const more = events.hasNextPage && !events.isFetchingNextPage ? () => void events.fetchNextPage() : undefined;
  const none = <Empty title="Nothing happened yet">What agents do, messages, tasks and orders appear here.</Empty>;
  return (
    <Tabs
      label="Ways to look at what happens"
      tabs={[
        {
          id: "feed",
          label: "Feed",
          content: () => (
            <Answer query={events}>
              {() =>
                items.length === 0 ? (
                  none
                ) : (
                  <div className="flex min-h-0 grow flex-col">
                    <p className="shrink-0 px-4 py-1 text-muted">
                      {count(items.length, "event")} loaded{events.hasNextPage ? "; older ones are loaded as you scroll" : ""}
                    </p>
                    <div className="min-h-0 grow">
                      <VirtualList label="What happened, newest first" items={items} keyOf={(i) => i.seq} estimate={34} more={more} row={(i) => <ActivityItem item={i} />} />
                    </div>
                  </div>
                )
              }
            </Answer>
          ),
        },
        { id: "timeline", label: "Time line", content: () => <Answer query={events}>{() => (items.length === 0 ? none : <ActivityTimeline items={items} more={more} />)}</Answer> },
        { id: "thoughts", label: "Thoughts", content: () => <ThoughtStream agent={thoughtsOf} choose={setThoughtsOf} /> },
      ]}
    />
  );
}
