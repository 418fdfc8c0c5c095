import { clsx } from "clsx";
import { X } from "lucide-react";
import { Link, NavLink } from "react-router";

import { AgentTree } from "@/agents/AgentTree";
import { hooks } from "@/api/client";
import { pages } from "@/app/pages";
import { useWaiting } from "@/needs/needs";
import { IconButton } from "@/ui/button";

const groups = [
  ["work", "Work"],
  ["organization", "Organization"],
  ["project", "Project"],
] as const;

/** The way to each page; on a narrow screen a drawer. */
export function Sidebar({ open, onClose }: { open: boolean; onClose: () => void }) {
  const waiting = useWaiting();
  const counts: Readonly<Record<string, number>> = { "": waiting?.total ?? 0, review: waiting?.items.filter((n) => n.kind === "review").length ?? 0 };
  const session = hooks.useQuery("get", "/api/heartbeat").data?.session ?? "";
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
          "w-52 shrink-0 flex-col gap-3 overflow-y-auto border-r border-line bg-surface p-2 md:static md:flex",
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
        {groups.map(([group, label]) => {
          const lines = pages.filter((p) => p.nav?.group === group);
          return (
            lines.length > 0 && (
              <div key={group}>
                <h2 className="px-2 pb-1 text-[0.85em] font-semibold text-muted">{label}</h2>
                <ul>
                  {lines.map(
                    ({ path, nav }) =>
                      nav && (
                        <li key={path}>
                          <NavLink
                            to={`/${path}`}
                            end={path === ""}
                            onClick={onClose}
                            className={({ isActive }) =>
                              clsx("flex min-h-8 items-center gap-2 rounded-md px-2", isActive ? "bg-accent-soft font-medium text-accent" : "hover:bg-sunken")
                            }
                          >
                            <nav.icon aria-hidden size={16} className="shrink-0" />
                            <span className="grow">{nav.label}</span>
                            {(counts[path] ?? 0) > 0 && <span className="rounded bg-warn-soft px-1.5 font-medium text-warn">{counts[path]}</span>}
                          </NavLink>
                        </li>
                      ),
                  )}
                </ul>
              </div>
            )
          );
        })}
        <AgentTree onGo={onClose} />
      </nav>
    </>
  );
}
