import { clsx } from "clsx";
import type { ReactNode } from "react";

import { behind } from "@/live/fold";
import { useLog } from "@/live/store";
import { count } from "@/ui/figures";

/** The line at the bottom: whether what is seen is what is so. */
export function StatusBar({ children }: { children?: ReactNode }) {
  return (
    <footer className="flex min-h-8 shrink-0 items-center gap-3 border-t border-line bg-surface px-3 text-sm">
      <Connection />
      <div className="ml-auto flex items-center gap-2">{children}</div>
    </footer>
  );
}

const texts = {
  connecting: "Connecting",
  "catching up": "Catching up",
  live: "Live",
  silent: "Behind: the server does not answer",
  offline: "Offline: this is what was so when the connection was lost",
};

function Connection() {
  const phase = useLog((l) => l.phase);
  const missing = useLog(behind);
  return (
    <p role="status" className="flex min-w-0 items-center gap-1.5">
      <span
        aria-hidden
        className={clsx("size-2 shrink-0 rounded-full", phase === "live" ? "bg-ok" : phase === "offline" ? "bg-bad" : "bg-warn")}
      />
      <span className="truncate">
        {texts[phase]}
        {phase === "catching up" && missing > 0 && `: ${count(missing, "event")} behind`}
      </span>
    </p>
  );
}
