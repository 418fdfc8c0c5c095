import { Suspense, useState, type ReactNode } from "react";

import { Button, type ButtonProps } from "@/ui/button";
import { lazily } from "@/ui/lazily";

/** How a dialog is drawn. */
export const DialogWindow = lazily(() => import("@/ui/DialogWindow"));

export interface DialogProps {
  title: string;
  description?: string;
  open: boolean;
  onOpenChange: (open: boolean) => void;
  children: ReactNode;
  wide?: boolean;
}

export function Dialog(props: DialogProps) {
  const [opened, setOpened] = useState(props.open);
  if (props.open && !opened) {
    setOpened(true);
  }
  return (
    opened && (
      <Suspense>
        <DialogWindow {...props} />
      </Suspense>
    )
  );
}

interface ConfirmProps extends Omit<ButtonProps, "onClick" | "title"> {
  title: string;
  text: ReactNode; // what will happen, and what is kept
  action: string; // the words on the button that does it
  onConfirm: () => void;
}

/** A button that says what will happen before it does it. Enter does it, unless it is something bad. */
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
          <Button data-first={button.tone === "bad" ? "" : undefined} onClick={() => setOpen(false)}>
            {action.startsWith("Cancel") ? "Go back" : "Cancel"}
          </Button>
          <Button
            data-first={button.tone === "bad" ? undefined : ""}
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
