import { Undo2 } from "lucide-react";
import { useEffect, useState } from "react";

import { sendNow, undo, undoFor, useHeld, useSendOnLeave, type Held } from "@/needs/held";
import { Button } from "@/ui/button";

/** What was decided and is not sent yet, on every page: it can be undone here. */
export function HeldBar() {
  useSendOnLeave();
  const held = useHeld().filter((h) => h.state === "held");
  if (held.length === 0) {
    return null;
  }
  return (
    <section aria-label="Decisions that are not sent yet" className="border-t border-line bg-raised px-3 py-1.5">
      <ul className="flex flex-col gap-1">
        {held.map((h) => (
          <li key={h.id} className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <span role="status" className="min-w-0 grow font-medium wrap-anywhere">
              {h.text}
            </span>
            <Countdown held={h} />
            <Button icon={<Undo2 aria-hidden size={15} />} aria-label={`Undo: ${h.text}`} onClick={() => undo(h.id)}>
              Undo <Key>u</Key>
            </Button>
            <Button tone="quiet" aria-label={`Send now: ${h.text}`} onClick={() => void sendNow(h.id)}>
              Send now
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The key that does what a button does. */
export function Key({ children }: { children: string }) {
  return (
    <kbd aria-hidden className="hidden rounded border border-current px-1 text-sm opacity-70 md:inline">
      {children}
    </kbd>
  );
}

function Countdown({ held }: { held: Held }) {
  const [now, setNow] = useState(held.due - undoFor);
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), 500);
    return () => window.clearInterval(timer);
  }, []);
  return <span className="text-muted tabular-nums">{`sent in ${Math.max(0, Math.ceil((held.due - now) / 1000))} s, or when you leave cmux`}</span>;
}
