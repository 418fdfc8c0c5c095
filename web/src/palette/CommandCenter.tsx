import { Search } from "lucide-react";
import { Suspense, useLayoutEffect, useState } from "react";

import { Boundary } from "@/app/Boundary";
import { Keys } from "@/palette/Keys";
import { IconButton } from "@/ui/button";
import { lazily } from "@/ui/lazily";

export const Palette = lazily(() => import("@/palette/Palette"));

/** Whether a key is part of a text that is written, or of a terminal's. */
function writes(at: EventTarget | null): boolean {
  return at instanceof Element && at.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable=true], .xterm") !== null;
}

/** Opens the palette: by Ctrl+K, Command+K or its button; and the list of keys: by ?. */
export function CommandCenter() {
  const [open, setOpen] = useState(false);
  const [typed, type] = useState("");
  const [keys, showKeys] = useState(false);
  const show = (on: boolean) => {
    type("");
    setOpen(on);
  };
  // Before the first paint: who sees the page may press the keys.
  useLayoutEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (e.key.toLowerCase() === "k" && (e.ctrlKey || e.metaKey) && !e.shiftKey && !e.altKey) {
        e.preventDefault();
        type("");
        setOpen((was) => !was);
      } else if (e.key === "?" && !e.ctrlKey && !e.metaKey && !e.altKey && !writes(e.target) && document.querySelector("[role=dialog]") === null) {
        e.preventDefault();
        showKeys(true);
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  return (
    <>
      <IconButton label="Commands (Ctrl+K)" className="min-h-6" onClick={() => show(true)}>
        <Search size={15} />
      </IconButton>
      <Keys open={keys} onOpenChange={showKeys} />
      {open && (
        <Boundary instead={null} onFault={() => show(false)}>
          <Suspense fallback={<Coming typed={typed} type={type} onClose={() => show(false)} />}>
            <Palette typed={typed} type={type} onClose={() => show(false)} />
          </Suspense>
        </Boundary>
      )}
    </>
  );
}

/** Takes what is typed while the palette's code is loaded. */
function Coming({ typed, type, onClose }: { typed: string; type: (text: string) => void; onClose: () => void }) {
  return (
    <div className="fixed top-[12vh] left-1/2 z-50 w-[calc(100vw-1.5rem)] max-w-2xl -translate-x-1/2 rounded-lg border border-line bg-raised shadow-xl">
      <input
        autoFocus
        aria-label="Find a page, a thing or a command"
        value={typed}
        onChange={(e) => type(e.target.value)}
        onKeyDown={(e) => e.key === "Escape" && onClose()}
        className="min-h-11 w-full bg-transparent px-4 text-text"
      />
    </div>
  );
}
