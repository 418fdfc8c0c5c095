import { Dialog } from "@/ui/dialog";

const groups = [
  [
    "Everywhere",
    [
      ["Ctrl+K", "Find a page, a thing or a command, and go there"],
      ["?", "Show these keys"],
      ["Esc", "Close what is open"],
    ],
  ],
  [
    "Needs you",
    [
      ["j, k", "Next, previous"],
      ["a", "Approve, allow, merge, acknowledge, mark as read"],
      ["r", "Retry, resume, release, assign again, send back"],
      ["p", "Put a task back"],
      ["o", "Override, call done"],
      ["d", "Cancel, drop, deny"],
      ["1 to 9", "Choose an option of a question, or the node of a conflict to drop"],
      ["c", "Write: an answer, a comment, a reply"],
      ["e", "Open the terminal and take it over"],
      ["x", "Choose several"],
      ["u", "Undo the last decision"],
      ["Esc", "Back to the list"],
    ],
  ],
  [
    "A node beside its graph",
    [
      ["a", "Approve the gate"],
      ["Esc", "Close the node"],
    ],
  ],
] as const;

/** The keys of the page, by where they work. */
export function Keys({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  return (
    <Dialog title="Keys" description="A decision is sent 10 seconds after you give it, or when you leave cmux. Until then you can undo it." open={open} onOpenChange={onOpenChange}>
      <div className="flex flex-col gap-3">
        {groups.map(([where, keys]) => (
          <section key={where} aria-label={where}>
            <h3 className="mb-1 font-semibold">{where}</h3>
            <dl className="grid grid-cols-[5rem_1fr] gap-x-4 gap-y-1">
              {keys.map(([key, what]) => (
                <div key={key} className="contents">
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd className="text-muted">{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
