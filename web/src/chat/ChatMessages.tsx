import { useChat } from "@/chat/conversation";
import { ChatEntry } from "@/chat/ChatEntry";
import { isTalk } from "@/chat/timeline";
import { Button } from "@/ui/button";
import { VirtualList } from "@/ui/list";
import { Empty, Failed, Loading } from "@/ui/states";

/** Messages, and what the agent thought and did between them; the newest is at the end, and in view after each that is sent. */
export function ChatMessages({ name, all, sent }: { name: string; all: boolean; sent?: number }) {
  const chat = useChat(name);
  if (chat.error !== undefined) {
    return <Failed error={chat.error} retry={chat.again} />;
  }
  if (chat.pending) {
    return <Loading rows={8} />;
  }
  const entries = all ? chat.entries : chat.entries.filter(isTalk);
  return (
    <div className="flex h-full min-h-0 flex-col">
      {chat.older && (
        <div className="flex shrink-0 justify-center p-1">
          <Button tone="quiet" busy={chat.busy} onClick={chat.older}>
            Show older
          </Button>
        </div>
      )}
      {entries.length === 0 ? (
        <Empty title="Nothing was said yet">Write the first message below.</Empty>
      ) : (
        <VirtualList label={`Conversation with ${name}`} items={entries} keyOf={(e) => e.key} estimate={64} follow latest={sent} row={(e) => <ChatEntry entry={e} name={name} />} />
      )}
    </div>
  );
}
