import { BookOpen, type LucideIcon } from "lucide-react";

import { doors, pages } from "@/app/pages";
import type { Findable } from "@/palette/rank";

/** A page, or a part of one, that the palette leads to. */
export interface Place extends Findable {
  kind: "page";
  to: string;
  inside: string; // the page that it is a part of; empty: it is an entry of the sidebar
  icon: LucideIcon;
}

/** Other names of the pages, former ones too. */
const names: Readonly<Record<string, string>> = {
  "": "inbox home decisions questions approvals gates waiting notifications start",
  activity: "feed log events history news audit what happened story last hour today yesterday",
  runs: "workflows dag pipelines executions history",
  "config/agents": "agents graph configuration of agents config yaml workflow dag editor nodes cmux-agents.yml",
  review: "reviews pull requests diffs changes merge",
  agents: "workers supervisor team list working who works now",
  chat: "talk conversation supervisor messages",
  rooms: "conversations discussions several agents talk debate group chat meeting",
  personas: "roles role files roster members kind model characters",
  tasks: "board kanban todo jobs issues tickets",
  explorer: "files folders code memory journal search browse",
  health: "status system heartbeat monitor server",
  budget: "cost money tokens usage spending limits",
  settings: "preferences options configuration config theme",
  projects: "sessions repositories workspaces",
  "first-steps": "onboarding setup getting started help welcome tutorial install",
};

const parts: readonly [label: string, to: string, inside: string, words: string][] = [
  ["Log of events", "/activity?tab=events", "Activity", "raw feed json audit"],
  ["Time line", "/activity?tab=timeline", "Activity", "timeline lanes"],
  ["Thoughts", "/activity?tab=thoughts", "Activity", "thinking reasoning"],
  ["Removed agents", "/agents?tab=removed", "Agents", "archives deleted killed past"],
  ["Teams", "/agents?tab=teams", "Agents", "plans groups templates"],
  ["Locks", "/agents?tab=locks", "Agents", "plans mutex held"],
  ["Notes of rooms", "/rooms?notes", "Rooms", "memory remember learned facts"],
  ["Backlog", "/tasks?tab=backlog", "Tasks", "later ideas"],
  ["Schedule", "/tasks?tab=schedule", "Tasks", "plans cron timer reminders recurring"],
  ["Merge finished tasks", "/tasks/merge", "Tasks", "integrate land ship branches"],
  ["Incidents", "/health?tab=incidents", "Health", "problems alarms broken failures"],
  ["Recovery", "/health?tab=recover", "Health", "rollback repair restore"],
  ["Morning report", "/health?tab=report", "Health", "overnight summary digest"],
  ["Doctor", "/health?tab=doctor", "Health", "diagnose missing programs install check"],
  ["Maintenance", "/health?tab=maintenance", "Health", "plans clean up prune disk space worktrees gc"],
  ["Alerts", "/settings", "Settings", "plans notifications bell call"],
  ["Theme", "/settings", "Settings", "dark light mode colors appearance"],
  ["Enter key", "/settings", "Settings", "messages sends ctrl shift newline keyboard"],
  ["Density", "/settings", "Settings", "dense comfortable compact spacing font size rows appearance"],
];

export const places: readonly Place[] = [
  ...pages.flatMap(({ path, label, door }): Place[] =>
    label === undefined ? [] : [{ kind: "page", label, to: `/${path}`, inside: doors.some((d) => d.path === path) ? "" : door.label, icon: door.icon, words: names[path] ?? "" }],
  ),
  ...parts.map(([label, to, inside, words]): Place => ({ kind: "page", label, to, inside, icon: doors.find((d) => d.label === inside)?.icon ?? BookOpen, words })),
];
