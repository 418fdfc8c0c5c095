import { NotebookPen } from "lucide-react";
import { useSearchParams } from "react-router";

import { NotesDialog } from "@/memory/NotesDialog";
import { Button } from "@/ui/button";

/** Opens the notes; the address says whether they are open, and which one is. */
export function NotesButton({ room }: { room?: string }) {
  const [params, setParams] = useSearchParams();
  const open = params.get("notes");
  const show = (on: boolean) =>
    setParams((was) => {
      const next = new URLSearchParams(was);
      if (on) {
        next.set("notes", "");
      } else {
        next.delete("notes");
      }
      return next;
    });
  return (
    <>
      <Button icon={<NotebookPen aria-hidden size={15} />} onClick={() => show(true)}>
        Notes
      </Button>
      {open !== null && <NotesDialog open={open} onClose={() => show(false)} {...(room === undefined ? {} : { room })} />}
    </>
  );
}
