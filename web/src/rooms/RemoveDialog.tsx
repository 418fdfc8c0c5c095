import { give, type Room } from "@/rooms/rooms";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { count } from "@/ui/figures";
import { useOrder } from "@/ui/toasts";

/** Says what the removal of a room does, before it does it. */
export function RemoveDialog({ view: { room, members }, onClose, onGone }: { view: Room; onClose: () => void; onGone?: () => void }) {
  const remove = useOrder(give.remove, (out) => `${room.name} is removed. What was said is in ${out.data?.archive ?? "the archives"}.`);
  const turns = members.filter((m) => m.turn !== "").length;
  return (
    <Dialog title={`Remove ${room.name}?`} open onOpenChange={onClose}>
      <ul className="list-disc pl-5">
        {turns > 0 && <li className="text-warn">{`${count(turns, "turn")} under way ${turns === 1 ? "is" : "are"} interrupted.`}</li>}
        <li>Its members and their programs end. Their agents are removed.</li>
        <li>What was said and attached moves to .cmux/archives/rooms. The room is no longer listed and cannot be reopened.</li>
        <li>Cards of the room stay tasks. Decisions stay in the journal.</li>
      </ul>
      {room.phase !== "closed" && <p className="mt-2 text-muted">To come back to it later, close the room instead.</p>}
      <div className="mt-4 flex justify-end gap-2">
        <Button data-first="" onClick={onClose}>
          Go back
        </Button>
        <Button
          tone="bad"
          busy={remove.isPending}
          onClick={() =>
            remove.mutate(room.name, {
              onSuccess: () => {
                onClose();
                onGone?.();
              },
            })
          }
        >
          Remove room
        </Button>
      </div>
    </Dialog>
  );
}
