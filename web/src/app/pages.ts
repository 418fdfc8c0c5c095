import { BellRing, Bot, ClipboardList, FolderTree, GitPullRequest, HeartPulse, MessagesSquare, Settings, Workflow, type LucideIcon } from "lucide-react";
import type { ComponentType } from "react";
import { matchPath } from "react-router";

import { NeedsPage } from "@/needs/NeedsPage";
import { lazily } from "@/ui/lazily";

/** An entry of the sidebar. Its pages are named in the head of each of them. */
export interface Door {
  label: string;
  icon: LucideIcon;
  path: string; // of its first page
}

/** A page of the dashboard. Each but the first loads its own code when it is opened. */
export interface PageEntry {
  path: string; // of the router, such as "runs/:id"
  door: Door;
  label?: string; // missing: a page of one thing, which others lead to
  page: ComponentType;
  preload?: () => void; // of its code
}

function page(load: () => Promise<{ default: ComponentType }>): Pick<PageEntry, "page" | "preload"> {
  const page = lazily(load);
  return { page, preload: page.preload };
}

const needs: Door = { label: "Needs you", icon: BellRing, path: "" };
const runs: Door = { label: "Runs", icon: Workflow, path: "runs" };
const review: Door = { label: "Review", icon: GitPullRequest, path: "review" };
const agents: Door = { label: "Agents", icon: Bot, path: "agents" };
const rooms: Door = { label: "Rooms", icon: MessagesSquare, path: "rooms" };
const tasks: Door = { label: "Tasks", icon: ClipboardList, path: "tasks" };
const explorer: Door = { label: "Explorer", icon: FolderTree, path: "explorer" };
const health: Door = { label: "Health", icon: HeartPulse, path: "health" };
const settings: Door = { label: "Settings", icon: Settings, path: "settings" };

/** The entries of the sidebar, in order. */
export const doors: readonly Door[] = [needs, runs, review, agents, rooms, tasks, explorer, health, settings];

/** The pages, in the order in which a head names those of its door. */
export const pages: readonly PageEntry[] = [
  { path: "", door: needs, label: "Needs you", page: NeedsPage },
  { path: "activity", door: needs, label: "Activity", ...page(() => import("@/activity/ActivityPage")) },
  { path: "runs", door: runs, label: "Runs", ...page(() => import("@/runs/RunsPage")) },
  { path: "config/agents", door: runs, label: "Graph", ...page(() => import("@/editor/ConfigPage")) },
  { path: "runs/:id", door: runs, ...page(() => import("@/runs/RunPage")) },
  { path: "compare", door: runs, ...page(() => import("@/runs/ComparePage")) },
  { path: "review", door: review, label: "Review", ...page(() => import("@/review/ReviewPage")) },
  { path: "runs/:id/review", door: review, ...page(() => import("@/review/ReviewPage")) },
  { path: "runs/:id/nodes/:name", door: runs, ...page(() => import("@/node/NodePage")) },
  { path: "tasks/merge", door: tasks, ...page(() => import("@/review/TasksMergePage")) },
  { path: "agents", door: agents, label: "Agents", ...page(() => import("@/agents/AgentsPage")) },
  { path: "chat", door: agents, label: "Chat", ...page(() => import("@/chat/ChatPage")) },
  { path: "chat/:name", door: agents, ...page(() => import("@/chat/ChatPage")) },
  { path: "agents/:name", door: agents, ...page(() => import("@/agents/AgentPage")) },
  { path: "rooms", door: rooms, label: "Rooms", ...page(() => import("@/rooms/RoomsPage")) },
  { path: "rooms/:room", door: rooms, ...page(() => import("@/rooms/RoomPage")) },
  { path: "personas", door: rooms, label: "Personas", ...page(() => import("@/personas/PersonasPage")) },
  { path: "tasks", door: tasks, label: "Tasks", ...page(() => import("@/tasks/TasksPage")) },
  { path: "tasks/:id", door: tasks, ...page(() => import("@/tasks/TaskPage")) },
  { path: "plans", door: tasks, ...page(() => import("@/app/Moved")) },
  { path: "explorer", door: explorer, label: "Explorer", ...page(() => import("@/explorer/ExplorerPage")) },
  { path: "health", door: health, label: "Health", ...page(() => import("@/health/HealthPage")) },
  { path: "budget", door: health, label: "Budget", ...page(() => import("@/budget/BudgetPage")) },
  { path: "settings", door: settings, label: "Settings", ...page(() => import("@/settings/SettingsPage")) },
  { path: "projects", door: settings, label: "Projects", ...page(() => import("@/projects/ProjectsPage")) },
  { path: "first-steps", door: settings, label: "First steps", ...page(() => import("@/onboarding/OnboardingPage")) },
];

/** The page at a path; undefined: there is none. The routes that name most of the path count first, as they do for the router. */
export function pageAt(path: string): PageEntry | undefined {
  const all = pages.filter((p) => matchPath(`/${p.path}`, path) !== null);
  return all.find((p) => !p.path.includes(":")) ?? all[0];
}

/** The named pages of a door that has several, as links. */
export function within(door: Door): readonly { to: string; label: string }[] {
  const all = pages.flatMap((p) => (p.door === door && p.label !== undefined ? [{ to: `/${p.path}`, label: p.label }] : []));
  return all.length > 1 ? all : [];
}

/** Loads the code of the page at a path, so that it comes while the rest starts. */
export function loadPage(path: string): void {
  pageAt(path)?.preload?.();
}
