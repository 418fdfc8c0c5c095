import { useMemo, useState } from "react";
import { useSearchParams } from "react-router";

import { ActivityItem } from "@/activity/ActivityItem";
import { ActivityTimeline } from "@/activity/ActivityTimeline";
import { ofEvent, type Filter } from "@/activity/items";
import type { About } from "@/activity/story";
import { StoryView } from "@/activity/StoryView";
import { ThoughtStream } from "@/activity/ThoughtStream";
import { useFeed, useRunNames, useStory } from "@/activity/useFeed";
import { useAgents } from "@/agents/agents";
import type { Api } from "@/api/client";
import { Button } from "@/ui/button";
import { Field, Select } from "@/ui/field";
import { count } from "@/ui/figures";
import { VirtualList } from "@/ui/list";
import { Page } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";
import { Tabs } from "@/ui/tabs";

const kinds = [
  "session", "prompt", "thought", "text", "tool_use", "tool_result", "denied", "subagent", "request_failed", "interrupted", "compacted",
  "status", "question", "answer", "report", "check", "hand_back", "limit", "usage", "fenced", "note", "end",
] as const satisfies readonly Api<"EventKind">[];

const abouts = [
  ["", "Everything"],
  ["people", "What people did"],
  ["work", "Work of agents"],
  ["tasks", "Tasks"],
  ["messages", "Messages"],
  ["trouble", "Trouble and questions"],
] as const satisfies readonly (readonly [About | "", string])[];

const sources: readonly (readonly [string, string])[] = [
  ["", "Everywhere"],
  ["agent:", "All agents"],
  ["run:", "All runs"],
  ["room:", "All rooms"],
  ["mailbox", "Messages"],
  ["tasks", "Tasks"],
  ["journal", "Journal"],
  ["incidents", "Incidents"],
  ["audit", "Commands and audit"],
];

/** How many runs can be chosen. */
const runsNamed = 20;

/** What happens: as a story, over time, as thoughts, and as the log has it. */
export default function ActivityPage() {
  const [params, setParams] = useSearchParams();
  const source = params.get("source") ?? "";
  const kind = params.get("kind") ?? "";
  const about = abouts.find(([a]) => a === params.get("about"))?.[0] ?? "";
  const agents = useAgents();
  const { runs, run } = useRunNames();
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
  const known: (readonly [string, string])[] = [
    ...sources,
    ...(agents.data?.items ?? []).map((a) => [`agent:${a.name}`, `Agent ${a.name}`] as const),
    ...runs.slice(0, runsNamed).map((r) => [`run:${r.id}/`, `Run ${run(r.id) ?? r.id}`] as const),
  ];
  if (!known.some(([s]) => s === source)) {
    known.push([source, source]);
  }
  const filter = { source, kind };
  const key = `${source} ${kind}`;
  return (
    <Page
      title="Activity"
      actions={
        <Field label="Where" hidden>
          {(ids) => <Select {...ids} options={known} value={source} onChange={(e) => set("source", e.target.value)} />}
        </Field>
      }
    >
      <Tabs
        label="Ways to look at what happens"
        first={kind === "" ? "story" : "events"} // a former address names a kind alone
        tabs={[
          { id: "story", label: "Story", content: () => <Story key={source} source={source} about={about} choose={(a) => set("about", a)} /> },
          { id: "timeline", label: "Time line", content: () => <TimeLine key={source} filter={{ source, kind: "" }} /> },
          { id: "thoughts", label: "Thoughts", content: () => <Thoughts /> },
          { id: "events", label: "Events", content: () => <Events key={key} filter={filter} choose={(k) => set("kind", k)} /> },
        ]}
      />
    </Page>
  );
}

const none = <Empty title="Nothing happened yet">What people and agents do, runs, tasks, messages and incidents appear here.</Empty>;

function Story({ source, about, choose }: { source: string; about: About | ""; choose: (about: string) => void }) {
  const { events, lines, more } = useStory(source, about);
  return (
    <Answer query={events}>
      {() => (
        <div className="flex min-h-0 grow flex-col">
          <div role="group" aria-label="About" className="flex shrink-0 gap-1 overflow-x-auto border-b border-line px-3 py-1.5">
            {abouts.map(([a, text]) => (
              <button key={a} type="button" aria-pressed={a === about} onClick={() => choose(a)} className={`min-h-7 rounded-full px-3 whitespace-nowrap ${a === about ? "bg-accent-soft font-medium text-accent" : "hover:bg-sunken"}`}>
                {text}
              </button>
            ))}
          </div>
          {lines.length > 0 ? (
            <div className="min-h-0 grow">
              <StoryView lines={lines} more={more} />
            </div>
          ) : events.hasNextPage ? (
            <Empty title="Nothing of this kind among the newest events" action={<Button onClick={more}>Look further back</Button>} />
          ) : about === "" ? (
            none
          ) : (
            <Empty title="Nothing of this kind happened yet" action={<Button onClick={() => choose("")}>Show everything</Button>} />
          )}
        </div>
      )}
    </Answer>
  );
}

function TimeLine({ filter }: { filter: Filter }) {
  const { events, items, more } = useFeed(filter);
  const { run } = useRunNames();
  return <Answer query={events}>{() => (items.length === 0 ? none : <ActivityTimeline items={items} more={more} runs={run} />)}</Answer>;
}

function Thoughts() {
  const [agent, choose] = useState("");
  return <ThoughtStream agent={agent} choose={choose} />;
}

/** The events, as the log has them. */
function Events({ filter, choose }: { filter: Filter; choose: (kind: string) => void }) {
  const { events, items, more } = useFeed(filter);
  const lines = useMemo(() => items.map(ofEvent), [items]);
  return (
    <Answer query={events}>
      {() => (
        <div className="flex min-h-0 grow flex-col">
          <div className="flex shrink-0 flex-wrap items-center gap-3 px-4 py-1">
            <div className="wide-44">
              <Field label="Kind" hidden>
                {(ids) => <Select {...ids} options={[["", "All kinds"] as const, ...kinds]} value={filter.kind} onChange={(e) => choose(e.target.value)} />}
              </Field>
            </div>
            <p className="text-muted">
              {count(items.length, "event")} loaded{events.hasNextPage ? "; older ones are loaded as you scroll" : ""}
            </p>
          </div>
          {lines.length === 0 ? (
            none
          ) : (
            <div className="min-h-0 grow">
              <VirtualList label="Events, newest first" items={lines} keyOf={(i) => i.seq} estimate={34} more={more} row={(i) => <ActivityItem item={i} />} />
            </div>
          )}
        </div>
      )}
    </Answer>
  );
}
