import type { EditedFile } from "@/editor/useFile";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";

/** What can be done with a file that is edited. A text that is `wrong` is not saved. */
export function FileOrders({ file: { draft, edited, conflict, saving, take, save }, wrong = false }: { file: EditedFile; wrong?: boolean }) {
  return (
    <>
      {edited && draft.disk.there && (
        <Confirm title="Discard what you typed?" text="The text of the file is shown again." action="Discard" tone="bad" onConfirm={take}>
          Discard
        </Confirm>
      )}
      <Button tone={edited ? "accent" : "plain"} disabled={!edited || conflict || wrong} busy={saving} aria-keyshortcuts="Control+S Meta+S" onClick={save}>
        Save
      </Button>
    </>
  );
}

/** Somebody else wrote the file meanwhile: which text counts. */
export function FileConflict({ file: { draft, conflict, saving, take, saveOver } }: { file: EditedFile }) {
  return (
    conflict && (
      <div role="alert" className="flex flex-wrap items-center gap-2 border-b border-line bg-bad-soft px-4 py-2 text-bad">
        <p className="grow">{draft.disk.there ? "The file says something else by now. Nothing of yours was written over it." : "The file is not there any more."}</p>
        {draft.disk.there && <Button onClick={take}>Take the file&apos;s text</Button>}
        <Button tone="bad" busy={saving} onClick={saveOver}>
          {draft.disk.there ? "Write mine over it" : "Write it again"}
        </Button>
      </div>
    )
  );
}
