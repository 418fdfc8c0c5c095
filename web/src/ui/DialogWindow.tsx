import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";

import type { DialogProps } from "@/ui/dialog";
import { IconButton } from "@/ui/button";

/** Puts the focus into the first field of a dialog that has one, else on the button that is marked for it. Without, Radix puts it on the first button. */
function focusFirst(e: Event): void {
  const field = e.currentTarget instanceof HTMLElement && e.currentTarget.querySelector<HTMLElement>(":is(input:not([type=hidden], [type=checkbox], [type=radio]), textarea, select):not(:disabled)");
  const first = field ?? (e.currentTarget instanceof HTMLElement ? e.currentTarget.querySelector<HTMLElement>("[data-first]") : null);
  if (first) {
    e.preventDefault();
    first.focus();
  }
}

/** What a dialog is drawn with: Radix, which the first page does without until one opens. */
export default function DialogWindow({ title, description, open, onOpenChange, children, wide = false }: DialogProps) {
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-text/40" />
        <Radix.Content
          onOpenAutoFocus={focusFirst}
          {...(description === undefined ? { "aria-describedby": undefined } : {})}
          className={`fixed top-1/2 left-1/2 z-40 flex max-h-[90dvh] w-[calc(100vw-1.5rem)] ${wide ? "max-w-4xl" : "max-w-lg"} -translate-x-1/2 -translate-y-1/2 flex-col rounded-lg border border-line bg-raised shadow-xl`}
        >
          <header className="flex items-center gap-2 border-b border-line px-4 py-2">
            <Radix.Title className="grow text-base font-semibold wrap-anywhere">{title}</Radix.Title>
            <Radix.Close asChild>
              <IconButton label="Close">
                <X size={18} />
              </IconButton>
            </Radix.Close>
          </header>
          <div className="min-h-0 overflow-auto p-4">
            {description !== undefined && <Radix.Description className="mb-3 text-muted">{description}</Radix.Description>}
            {children}
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
