import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { useState, type ReactNode } from "react";

import { Button, IconButton, type ButtonProps } from "@/ui/button";

interface DialogProps {
  title: string;
  description?: string;
  open: boolean;
  onOpenChange: (open: boolean) => void;
  children: ReactNode;
  wide?: boolean;
}

export function Dialog({ title, description, open, onOpenChange, children, wide = false }: DialogProps) {
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-text/40" />
        <Radix.Content
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

interface ConfirmProps extends Omit<ButtonProps, "onClick" | "title"> {
  title: string;
  text: ReactNode; // what will happen, and what is kept
  action: string; // the words on the button that does it
  onConfirm: () => void;
}

/** A button that says what will happen before it does it. */
export function Confirm({ title, text, action, onConfirm, children, ...button }: ConfirmProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)}>
        {children}
      </Button>
      <Dialog title={title} open={open} onOpenChange={setOpen}>
        <div className="mb-4">{text}</div>
        <div className="flex justify-end gap-2">
          <Button onClick={() => setOpen(false)}>Cancel</Button>
          <Button
            tone={button.tone === "bad" ? "bad" : "accent"}
            onClick={() => {
              setOpen(false);
              onConfirm();
            }}
          >
            {action}
          </Button>
        </div>
      </Dialog>
    </>
  );
}
