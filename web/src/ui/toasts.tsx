import { useMutation } from "@tanstack/react-query";
import { CircleAlert, CircleCheck, X } from "lucide-react";
import { createStore, useStore } from "zustand";

import { Problem } from "@/api/client";
import { IconButton } from "@/ui/button";
import { added, stays, type Notice } from "@/ui/notices";
import { Try } from "@/ui/states";

const store = createStore<{ toasts: readonly Notice[] }>(() => ({ toasts: [] }));
const okStays = 5000;
let last = 0;

function add(notice: Omit<Notice, "id" | "times" | "at">): void {
  const id = ++last;
  store.setState(({ toasts }) => ({ toasts: added(toasts, { ...notice, id, at: Date.now() }) }));
  if (notice.tone === "ok") {
    window.setTimeout(() => remove(id), okStays);
  }
}

function remove(id: number): void {
  store.setState(({ toasts }) => ({ toasts: toasts.filter((t) => t.id !== id) }));
}

/** Says that something was done. */
export function say(text: string): void {
  add({ tone: "ok", text });
}

/** Says what went wrong, and keeps it until it is closed or another page is opened. */
export function complain(error: unknown): void {
  const problem = error instanceof Error ? error : new Error(String(error));
  add({ tone: "bad", text: problem.message, way: problem instanceof Problem ? problem.way : undefined });
}

/**
 * An order: `give` is called with what `mutate` gets, and `done` says that it was
 * carried out. What the server refuses is shown with the way that helps.
 */
export function useOrder<In = void, Out = unknown>(give: (input: In) => Promise<Out>, done?: string | ((out: Out, input: In) => string)) {
  return useMutation({
    mutationFn: give,
    onSuccess: (out, input) => {
      if (done !== undefined) {
        say(typeof done === "string" ? done : done(out, input));
      }
    },
    onError: complain,
  });
}

/** The reader opens another page: what went wrong on the one before is settled, or said there again. */
export function turnPage(): void {
  const now = Date.now();
  store.setState(({ toasts }) => ({ toasts: toasts.filter((t) => stays(t, now)) }));
}

export function Toasts() {
  const toasts = useStore(store, (s) => s.toasts);
  return (
    <div
      role="region"
      aria-label="Notices"
      aria-live="polite"
      // A dialog takes a press or a focus beside it for its end: a notice is read and closed without losing what was typed there.
      onPointerDown={(e) => e.stopPropagation()}
      onFocus={(e) => e.stopPropagation()}
      className="pointer-events-none fixed top-1.5 left-1/2 z-50 flex max-h-[70dvh] w-[min(26rem,calc(100vw-1.5rem))] -translate-x-1/2 flex-col gap-2 overflow-y-auto"
    >
      {toasts.map((t) => (
        <div key={t.id} className="pointer-events-auto flex items-start gap-2 rounded-md border border-line bg-raised p-3 shadow-lg">
          {t.tone === "ok" ? <CircleCheck aria-hidden size={18} className="mt-0.5 shrink-0 text-ok" /> : <CircleAlert aria-hidden size={18} className="mt-0.5 shrink-0 text-bad" />}
          <p className="min-w-0 grow wrap-anywhere">
            {t.text}
            {t.times > 1 && <span className="text-muted">{` (${t.times} times)`}</span>}
            <Try way={t.way} />
          </p>
          <IconButton label="Close" onClick={() => remove(t.id)}>
            <X size={16} />
          </IconButton>
        </div>
      ))}
    </div>
  );
}
