import { useAgents } from "@/agents/agents";
import { ofEvent } from "@/activity/items";
import { api, hooks, type Api } from "@/api/client";
import { useNewest } from "@/live/newest";
import { Field, Select } from "@/ui/field";
import { VirtualList } from "@/ui/list";
import { Markdown } from "@/ui/markdown";
import { Answer, Empty } from "@/ui/states";
import { Ago } from "@/ui/time";

/** What the agents think, the newest first. */
export function ThoughtStream({ agent, choose }: { agent: string; choose: (agent: string) => void }) {
  const agents = useAgents();
  return (
    <div className="flex min-h-0 grow flex-col">
      <div className="max-w-60 shrink-0 px-4 py-2">
        <Field label="Agent" hidden>
          {(ids) => <Select {...ids} options={[["", "All agents"] as const, ...(agents.data?.items ?? []).map((a) => a.name)]} value={agent} onChange={(e) => choose(e.target.value)} />}
        </Field>
      </div>
      <Thoughts key={agent} agent={agent} />
    </div>
  );
}

function Thoughts({ agent }: { agent: string }) {
  const query = { limit: 100, ...(agent === "" ? {} : { agent }) };
  const head = hooks.useQuery("get", "/api/thoughts", { params: { query } });
  const thoughts = useNewest<Api<"StoreEvent">>(head, async (cursor) => (await api.GET("/api/thoughts", { params: { query: { ...query, cursor } } })).data, (e) => e.seq);
  return (
    <Answer query={head}>
      {() =>
        thoughts.items === undefined || thoughts.items.length === 0 ? (
          <Empty title="No thoughts yet">Not every program tells what it thinks.</Empty>
        ) : (
          <div className="min-h-0 grow">
            <VirtualList
              label="Thoughts, newest first"
              items={thoughts.items}
              keyOf={(e) => e.seq}
              estimate={72}
              more={thoughts.more}
              row={(e) => (
                <article className="border-b border-line px-4 py-2">
                  <p className="flex gap-2 text-muted">
                    <strong>{ofEvent(e).who}</strong>
                    <Ago at={e.at} />
                  </p>
                  <Markdown>{textOf(e)}</Markdown>
                </article>
              )}
            />
          </div>
        )
      }
    </Answer>
  );
}

function textOf(e: Api<"StoreEvent">): string {
  const body = e.body;
  return typeof body === "object" && body !== null && "text" in body && typeof body.text === "string" ? body.text : "";
}
