import { clsx } from "clsx";
import { X } from "lucide-react";
import { useMemo } from "react";
import { Link, useLocation } from "react-router";

import { AgentTree } from "@/agents/AgentTree";
import { hooks } from "@/api/client";
import { doors, pageAt } from "@/app/pages";
import { useWaiting } from "@/needs/needs";
import { IconButton } from "@/ui/button";

/** The way to each page; on a narrow screen a drawer. */
export function Sidebar({ open, onClose }: { open: boolean; onClose: () => void }) {
  const waiting = useWaiting();
  const counts: Readonly<Record<string, number>> = { "": waiting?.total ?? 0, review: waiting?.items.filter((n) => n.kind === "review").length ?? 0 };
  const session = hooks.useQuery("get", "/api/heartbeat").data?.session ?? "";
  const { pathname } = useLocation();
  const here = useMemo(() => pageAt(pathname), [pathname]); // it is drawn with each need
  return (
    <>
      {open && <div aria-hidden className="fixed inset-0 z-30 bg-text/40 md:hidden" onClick={onClose} />}
      <nav
        aria-label="Pages"
        onKeyDown={(e) => {
          if (e.key === "Escape") {
            onClose();
          }
        }}
        className={clsx(
          "wide-56 shrink-0 flex-col gap-3 overflow-y-auto border-r border-line bg-surface p-2 md:static md:flex",
          open ? "fixed inset-y-0 left-0 z-40 flex" : "hidden",
        )}
      >
        <div className="flex min-h-8 items-center gap-2 px-2">
          <span className="font-semibold">cmux</span>
          <Link to="/projects" onClick={onClose} title="Projects" className="min-w-0 grow truncate text-muted hover:underline">
            {session}
          </Link>
          <IconButton label="Close the menu" className="md:hidden" onClick={onClose}>
            <X size={18} />
          </IconButton>
        </div>
        <ul>
          {doors.map((door) => {
            const inside = here?.door === door;
            return (
              <li key={door.path}>
                <Link
                  to={`/${door.path}`}
                  aria-current={inside ? (here.path === door.path ? "page" : "true") : undefined}
                  onClick={onClose}
                  className={clsx("flex min-h-8 items-center gap-2 rounded-md px-2", inside ? "bg-accent-soft font-medium text-accent" : "hover:bg-sunken")}
                >
                  <door.icon aria-hidden size={16} className="shrink-0" />
                  <span className="grow">{door.label}</span>
                  {(counts[door.path] ?? 0) > 0 && <span className="rounded bg-warn-soft px-1.5 font-medium text-warn">{counts[door.path]}</span>}
                </Link>
              </li>
            );
          })}
        </ul>
        <AgentTree onGo={onClose} />
      </nav>
    </>
  );
}
