import { LoaderCircle } from "lucide-react";
import { useMemo } from "react";

import { visible } from "@/changes/visible";
import { EntryView } from "@/conversation/EntryView";
import { group } from "@/conversation/group";
import { doingNow } from "@/conversation/now";
import { useConversation, type AgentSource } from "@/conversation/source";
import { VirtualList } from "@/ui/list";
import { Empty, Failed, Loading } from "@/ui/states";
import { Ago } from "@/ui/time";

interface ConversationProps {
  source: AgentSource;
  attempt?: number | undefined; // of this one alone
  now?: boolean; // with what it does at this moment
}

/** What an agent was told, thought, said and did, live. It fills the room it is given. */
export function Conversation({ source, attempt, now = false }: ConversationProps) {
  const { items, error, more, again } = useConversation(source, attempt);
  const entries = useMemo(() => group(items ?? []), [items]);
  const doing = useMemo(() => (now ? doingNow(items ?? []) : undefined), [now, items]);
  if (items === undefined) {
    return error === undefined ? <Loading /> : <Failed error={error} retry={again} />;
  }
  if (entries.length === 0) {
    return <Empty title="Nothing was said yet">What the agent is told, thinks, says and does appears here.</Empty>;
  }
  return (
    <div className="flex h-full min-h-0 grow flex-col">
      {error !== undefined && <Failed error={error} retry={again} />}
      <div className="min-h-0 grow">
        <VirtualList label="Conversation" items={entries} keyOf={(e) => e.key} estimate={80} follow more={more} row={(e) => <EntryView entry={e} />} />
      </div>
      {doing && (
        <p role="status" aria-label="What it does now" className="flex items-baseline gap-2 border-t border-line bg-info-soft px-4 py-1.5 text-info">
          <LoaderCircle aria-hidden size={14} className="shrink-0 animate-spin self-center" />
          <span className="shrink-0 font-medium">{`Now it ${doing.verb}`}</span>
          <span className="min-w-0 grow truncate">{visible(doing.text)}</span>
          <Ago at={doing.since} className="shrink-0 tabular-nums" />
        </p>
      )}
    </div>
  );
}
