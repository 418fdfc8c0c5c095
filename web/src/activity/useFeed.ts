import { useQueries } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";

import { tellDecisions, undecided, type Decision } from "@/activity/decisions";
import { feed, loggedOf, passes, type Filter } from "@/activity/items";
import { kinds, story, tell, tellNodes, tellRuns, type About, type Known, type Logged, type NodeTimes, type Told } from "@/activity/story";
import { hooks, type Api } from "@/api/client";
import { kept } from "@/live/fold";
import { useLog } from "@/live/store";
import { labelText } from "@/node/words";
import { clock, day } from "@/ui/time";

/** The events that pass a filter, the newest first, those that come live too. The filter is one for as long as the component is there. */
export function useFeed(filter: Filter) {
  const query = { limit: 200, ...(filter.source === "" ? {} : { source: filter.source }), ...(filter.kind === "" ? {} : { kind: filter.kind }) };
  const events = hooks.useInfiniteQuery(
    "get",
    "/api/agent-events",
    { params: { query } },
    { pageParamName: "cursor", initialPageParam: "", getNextPageParam: (p: Api<"EventList">) => p.next },
  );
  const recent = useLog((l) => l.recent);
  const { data, refetch } = events;
  const asked = useMemo(() => data?.pages.flatMap((p): readonly Logged[] => p.items) ?? [], [data]);
  const head = data?.pages[0]?.head.seq ?? 0;
  const items = useMemo(
    () => feed(recent.map(loggedOf).filter((l) => passes(l, filter)), asked, head),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the filter stays
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
  return { events, items, more };
}

type Runs = readonly Api<"PastRun">[];

/** What each run is called, no two alike: its session, and when it began where that has several. */
export function runNames(runs: Runs): (id: string) => string | undefined {
  const times = new Map<string, number>();
  runs.forEach((r) => times.set(r.session, (times.get(r.session) ?? 0) + 1));
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const r of runs) {
    const at = r.started_at === null ? undefined : new Date(r.started_at);
    const named = (times.get(r.session) ?? 0) < 2 ? r.session : at && `${r.session} of ${day(at).replace(/ \d+$/, "")}, ${clock(at)}`;
    const name = named === undefined || taken.has(named) ? `${r.session} ${r.id}` : named;
    taken.add(name);
    names.set(r.id, name);
  }
  return (id) => names.get(id);
}

export function useRunNames() {
  const runs = hooks.useQuery("get", "/api/runs", { params: { query: { limit: 1000 } } }).data?.items;
  return useMemo(() => ({ runs: runs ?? [], run: runNames(runs ?? []) }), [runs]);
}

/** Of how many of the newest runs the story tells the nodes. */
const runsTold = 3;

/** When a node's attempts ended, and how. */
function timesOf(n: Api<"GraphNode">): NodeTimes {
  const spans = n.role === "gate" ? [] : n.spans.map((s) => ({ attempt: s.attempt, ended: s.ended_at, label: s.label === null ? s.lost : labelText(s.label), state: s.label?.state ?? "lost" }));
  return { name: n.name, spans };
}

function decisionOf(n: Api<"GraphNode">): Decision {
  return { name: n.name, gate: n.role === "gate", state: n.status.state, reason: n.status.reason, at: n.ended_at ?? n.since, review: n.review };
}

/** The story of what happened at a source, as far as it is loaded. */
export function useStory(source: string, about: About | "") {
  const { events, items, more } = useFeed({ source, kind: kinds.join(",") });
  const { runs, run } = useRunNames();
  const tasks = hooks.useQuery("get", "/api/tasks", { params: { query: { all: true, limit: 1000 } } }).data?.items;
  const near = runs.filter((r) => source === "" || source === "run:" || source.startsWith(`run:${r.id}/`)).slice(0, runsTold);
  const nodes = useQueries({
    queries: near.map((r) => hooks.queryOptions("get", "/api/runs/{id}/graph", { params: { path: { id: r.id } } })),
    combine: (all) => all.flatMap((q, i) => (q.data?.nodes ?? []).map((n) => ({ run: near[i]?.id ?? "", times: timesOf(n), decision: decisionOf(n) }))),
  });
  const lines = useMemo(() => {
    const titles = new Map(tasks?.map((t) => [t.id, t.title]));
    const known: Known = { run, task: (id) => titles.get(id) };
    const told = items.flatMap((i): Told[] => {
      const line = tell(i, known);
      return line === undefined ? [] : [line];
    });
    const from = events.hasNextPage ? (items.at(-1)?.at ?? "") : ""; // what is older is not loaded
    const ofRuns = source === "" || source.startsWith("run:") ? tellRuns(runs.filter((r) => source.length <= 4 || source.startsWith(`run:${r.id}/`)).map((r) => ({ ...r, session: run(r.id) ?? r.session }))) : [];
    const logged = new Set(items.filter((i) => i.kind === "end").map((i) => i.source));
    const here = nodes.filter(({ run: id, times }) => source.endsWith("/") || !source.includes("/") || source === `run:${id}/${times.name}`);
    const ofNodes = here.flatMap(({ run: id, times }) => tellNodes({ id, session: run(id) ?? id }, [times], (s) => logged.has(s)));
    const decisions = here.flatMap(({ run: id, decision }) => tellDecisions({ id, session: run(id) ?? id }, [decision]));
    return story([...undecided(told, decisions), ...[...ofRuns, ...ofNodes, ...decisions].filter((t) => from === "" || Date.parse(t.at) >= Date.parse(from))].filter((t) => about === "" || t.about === about));
  }, [items, runs, run, tasks, nodes, source, about, events.hasNextPage]);
  return { events, lines, more };
}
