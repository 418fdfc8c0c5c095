import { give, type Member, type Room } from "@/rooms/rooms";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { useOrder } from "@/ui/toasts";

/** Asks before somebody leaves the room. */
export function DismissDialog({ member: m, room, onClose }: { member: Member; room: Room["room"]; onClose: () => void }) {
  const dismiss = useOrder(give.dismiss, `${m.name} left.`);
  const { settings: s } = room;
  const leads = room.policy === "moderator" && s.moderator === m.name ? "moderator" : room.policy === "debate" && s.judge === m.name ? "judge" : undefined;
  return (
    <Dialog title={`Dismiss ${m.name}?`} open onOpenChange={onClose}>
      <p>{m.guest ? "It gets no more mail of this room. What it said is kept." : `${m.turn === "" ? "" : "Its turn is interrupted. "}Its program ends. What it said is kept.`}</p>
      {leads !== undefined && <p className="mt-2 text-warn">{`It is the ${leads} of this room. Choose another in the settings first.`}</p>}
      <div className="mt-4 flex justify-end gap-2">
        <Button data-first="" onClick={onClose}>
          Cancel
        </Button>
        <Button tone="bad" busy={dismiss.isPending} onClick={() => dismiss.mutate({ room: room.name, name: m.name }, { onSettled: onClose })}>
          Dismiss
        </Button>
      </div>
    </Dialog>
  );
}
