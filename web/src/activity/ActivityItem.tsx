import { memo, useState } from "react";

import { api, type Api } from "@/api/client";
import { saidOf, type Item } from "@/activity/items";
import { CallBody } from "@/conversation/CallView";
import { EntryView } from "@/conversation/EntryView";
import { group } from "@/conversation/group";
import { Dialog } from "@/ui/dialog";
import { Label } from "@/ui/label";
import { Answer } from "@/ui/states";
import { Ago, exact } from "@/ui/time";
import { useQuery } from "@tanstack/react-query";

/** An event in a line; the whole of it is seen when the line is opened. */
export const ActivityItem = memo(function ActivityItem({ item: i }: { item: Item }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" title={i.source} onClick={() => setOpen(true)} className="flex min-h-8 w-full min-w-0 items-center gap-2 border-b border-line px-4 py-1 text-left hover:bg-sunken">
        <Ago at={i.at} className="w-9 shrink-0 text-muted" />
        <Label tone={i.tone} className="shrink-0">
          {i.kind}
        </Label>
        {i.who !== "" && <strong className="max-w-40 shrink-0 truncate">{i.who}</strong>}
        <span className="min-w-0 grow truncate">{i.text}</span>
      </button>
      {open && <WholeDialog seq={i.seq} onClose={() => setOpen(false)} />}
    </>
  );
});

/** All of an event, in a window. */
export function WholeDialog({ seq, onClose }: { seq: number; onClose: () => void }) {
  return (
    <Dialog title={`Event ${seq}`} open onOpenChange={onClose} wide>
      <Whole seq={seq} />
    </Dialog>
  );
}

function Whole({ seq }: { seq: number }) {
  const event = useQuery({ queryKey: ["event", seq], queryFn: async () => (await api.GET("/api/agent-events/{seq}", { params: { path: { seq } } })).data });
  return (
    <Answer query={event}>
      {(e) =>
        e && (
          <>
            <p className="mb-2 text-muted wrap-anywhere">
              {e.source}, {e.kind}, {exact(e.at)} {e.unverified === true && "(unverified)"}
            </p>
            <Read event={e} />
          </>
        )
      }
    </Answer>
  );
}

/** What an agent said or did as its conversation shows it; of all else, and below it, what stands in the log. */
function Read({ event }: { event: Api<"StoreEvent"> }) {
  const said = saidOf(event);
  const entries = said === undefined ? [] : group([said]).filter((e) => e.type !== "attempt");
  const line = (
    <pre tabIndex={0} className="overflow-auto rounded bg-sunken p-2 whitespace-pre-wrap wrap-anywhere">
      {JSON.stringify(event.body, null, 2)}
    </pre>
  );
  if (entries.length === 0) {
    return line;
  }
  return (
    <>
      {entries.map((e) =>
        // Whether a call still runs, one event does not say.
        e.type === "calls" ? e.calls.map((c) => <CallBody key={c.key} call={c} />) : <EntryView key={e.key} entry={e} />,
      )}
      <details className="mt-2">
        <summary className="text-muted">As the log has it</summary>
        {line}
      </details>
    </>
  );
}
