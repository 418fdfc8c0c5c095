import { useState } from "react";
import { useSearchParams } from "react-router";

import { TextDialog } from "@/agents/AgentDialogs";
import { api, hooks, type Api } from "@/api/client";
import { IncidentFacts } from "@/health/IncidentFacts";
import { useIncidents } from "@/health/queries";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { VirtualList } from "@/ui/list";
import { Answer, Empty } from "@/ui/states";
import { Ago } from "@/ui/time";

type Incident = Api<"Incident">;

const toneOf = (i: Incident) => (i.state === "closed" ? "muted" : i.acked_at !== null ? "warn" : "bad");
const wordOf = (i: Incident) => (i.state === "open" && i.acked_at !== null ? "open, known" : i.state);

export function Incidents() {
  const [closed, showClosed] = useState(false);
  const [params, setParams] = useSearchParams();
  const incidents = useIncidents(closed);
  const chosen = params.get("incident");
  const choose = (id: string | undefined) =>
    setParams(
      (was) => {
        const next = new URLSearchParams(was);
        if (id === undefined) {
          next.delete("incident");
        } else {
          next.set("incident", id);
        }
        return next;
      },
      { replace: true },
    );
  return (
    <div className="flex min-h-0 grow flex-col">
      <label className="flex min-h-9 shrink-0 items-center gap-2 px-4">
        <input type="checkbox" checked={closed} onChange={(e) => showClosed(e.target.checked)} />
        Show closed ones
      </label>
      <Answer query={incidents}>
        {({ pages }) => {
          const items = pages.flatMap((p) => p.items);
          return items.length === 0 ? (
            <Empty title={closed ? "There was no incident yet" : "There is no open incident"}>What goes wrong is written down here with its evidence.</Empty>
          ) : (
            <div className="min-h-0 grow">
              <VirtualList
                label="Incidents"
                items={items}
                keyOf={(i) => i.id}
                estimate={44}
                more={incidents.hasNextPage && !incidents.isFetchingNextPage ? () => void incidents.fetchNextPage() : undefined}
                row={(i) => (
                  <button type="button" onClick={() => choose(i.id)} className="flex min-h-10 w-full min-w-0 flex-wrap items-center gap-2 border-b border-line px-4 py-1 text-left hover:bg-sunken">
                    <Label tone={toneOf(i)}>{wordOf(i)}</Label>
                    <span className="min-w-0 grow wrap-anywhere">{i.title}</span>
                    <span className="text-muted">{i.about}</span>
                    <Ago at={i.changed_at} className="text-muted" />
                  </button>
                )}
              />
            </div>
          );
        }}
      </Answer>
      {chosen !== null && <Detail id={chosen} onClose={() => choose(undefined)} />}
    </div>
  );
}

function Detail({ id, onClose }: { id: string; onClose: () => void }) {
  const incident = hooks.useQuery("get", "/api/incidents/{id}", { params: { path: { id } } });
  const [asked, ask] = useState<"ack" | "close">();
  return (
    <Dialog title={incident.data?.title ?? id} open onOpenChange={onClose} wide>
      <Answer query={incident}>
        {(i) => (
          <div className="flex flex-col gap-3">
            <p className="flex flex-wrap items-center gap-2 text-muted">
              <Label tone={toneOf(i)}>{wordOf(i)}</Label>
              <span>
                {i.id}, {i.kind} of {i.about}, opened by {i.opened_by} <Ago at={i.opened_at} /> ago, seen {count(i.seen, "time")}
              </span>
              {(i.cost.tokens > 0 || i.cost.seconds > 0) && (
                <span>
                  cost {tokens(i.cost.tokens)} tokens and {Math.round(i.cost.seconds)} s
                </span>
              )}
            </p>
            <IncidentFacts incident={i} />
            {i.state === "open" && (
              <div className="flex justify-end gap-2">
                {i.acked_at === null && <Button onClick={() => ask("ack")}>I know</Button>}
                <Button tone="accent" onClick={() => ask("close")}>
                  Close it
                </Button>
              </div>
            )}
          </div>
        )}
      </Answer>
      {asked !== undefined && (
        <TextDialog
          title={asked === "ack" ? "You know of this incident" : "Close this incident"}
          label="Note"
          action={asked === "ack" ? "I know" : "Close it"}
          optional
          give={(note) => api.POST("/api/incidents/{id}/ack", { params: { path: { id } }, body: { ...(note === "" ? {} : { note }), close: asked === "close" } })}
          done={asked === "ack" ? "It is written down that you know." : "It is closed."}
          onClose={() => ask(undefined)}
        />
      )}
    </Dialog>
  );
}
