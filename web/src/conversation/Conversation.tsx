import { useMemo } from "react";

import { EntryView } from "@/conversation/EntryView";
import { group } from "@/conversation/group";
import { useConversation, type AgentSource } from "@/conversation/source";
import { VirtualList } from "@/ui/list";
import { Empty, Failed, Loading } from "@/ui/states";

interface ConversationProps {
  source: AgentSource;
  attempt?: number | undefined; // of this one alone
}

/** What an agent was told, thought, said and did, live. It fills the room it is given. */
export function Conversation({ source, attempt }: ConversationProps) {
  const { items, error, more, again } = useConversation(source, attempt);
  const entries = useMemo(() => group(items ?? []), [items]);
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
    </div>
  );
}
