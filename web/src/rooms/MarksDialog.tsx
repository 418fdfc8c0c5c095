import { marks } from "@/rooms/marks.gen";
import { Dialog } from "@/ui/dialog";
import { Label } from "@/ui/label";

/** The marks that members and the person may write, and what each does. */
export function MarksDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Marks" description="What members and you may write in a message, and what it does. In code no mark counts." open onOpenChange={onClose} wide>
      <dl className="grid grid-cols-[auto_1fr] gap-x-3 gap-y-2 max-sm:grid-cols-1">
        {marks.map((m) => (
          <div key={m.label} className="contents">
            <dt>
              <Label tone={m.tone}>{m.label}</Label>
            </dt>
            <dd className="min-w-0 wrap-anywhere first-letter:uppercase">{m.help}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
