import { hooks } from "@/api/client";
import { visible } from "@/changes/visible";
import { Dialog } from "@/ui/dialog";
import { Answer } from "@/ui/states";

/** What a turn gave its member, as it was sent. */
export function PromptDialog({ room, turn, member, onClose }: { room: string; turn: string; member: string; onClose: () => void }) {
  const prompt = hooks.useQuery("get", "/api/rooms/{room}/turns/{turn}/prompt", { params: { path: { room, turn } } });
  return (
    <Dialog title={`What ${member} got in turn ${turn}`} open onOpenChange={onClose} wide>
      <Answer query={prompt}>
        {({ text }) => (
          <pre tabIndex={0} role="group" aria-label="Prompt" className="overflow-x-auto rounded bg-sunken p-3 whitespace-pre-wrap wrap-anywhere">
            {visible(text)}
          </pre>
        )}
      </Answer>
    </Dialog>
  );
}
