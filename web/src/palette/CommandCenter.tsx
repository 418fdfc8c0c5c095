import { Search } from "lucide-react";
import { Suspense, useEffect, useState } from "react";

import { Boundary } from "@/app/Boundary";
import { IconButton } from "@/ui/button";
import { lazily } from "@/ui/lazily";

const Palette = lazily(() => import("@/palette/Palette"));

/** Opens the palette: by Ctrl+K, Command+K or its button. */
export function CommandCenter() {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (e.key.toLowerCase() === "k" && (e.ctrlKey || e.metaKey) && !e.shiftKey && !e.altKey) {
        e.preventDefault();
        setOpen((was) => !was);
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  return (
    <>
      <IconButton label="Commands (Ctrl+K)" className="min-h-6" onClick={() => setOpen(true)}>
        <Search size={15} />
      </IconButton>
      {open && (
        <Boundary instead={null} onFault={() => setOpen(false)}>
          <Suspense>
            <Palette onClose={() => setOpen(false)} />
          </Suspense>
        </Boundary>
      )}
    </>
  );
}
