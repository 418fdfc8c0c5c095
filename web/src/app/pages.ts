import {
  Activity,
  BellRing,
  Bot,
  CalendarClock,
  ClipboardList,
  Coins,
  FileCog,
  FolderGit2,
  FolderTree,
  GitPullRequest,
  HeartPulse,
  ListChecks,
  MessagesSquare,
  Settings,
  Workflow,
  type LucideIcon,
} from "lucide-react";
import type { ComponentType } from "react";
import { matchPath } from "react-router";

import { NeedsPage } from "@/needs/NeedsPage";
import { lazily } from "@/ui/lazily";

/** A page of the dashboard. Each but the first loads its own code when it is opened. */
export interface PageEntry {
  path: string; // of the router, such as "runs/:id"
  page: ComponentType;
  preload?: () => void; // of its code
  nav?: { label: string; icon: LucideIcon; group: "work" | "organization" | "project" }; // missing: no line in the sidebar
}

function page(load: () => Promise<{ default: ComponentType }>): Pick<PageEntry, "page" | "preload"> {
  const page = lazily(load);
  return { page, preload: page.preload };
}

/** The pages, in the order of the sidebar. */
export const pages: readonly PageEntry[] = [
  { path: "", page: NeedsPage, nav: { label: "Needs you", icon: BellRing, group: "work" } },
  { path: "runs", ...page(() => import("@/runs/RunsPage")), nav: { label: "Runs", icon: Workflow, group: "work" } },
  { path: "runs/:id", ...page(() => import("@/runs/RunPage")) },
  { path: "compare", ...page(() => import("@/runs/ComparePage")) },
  { path: "review", ...page(() => import("@/review/ReviewPage")), nav: { label: "Review", icon: GitPullRequest, group: "work" } },
  { path: "runs/:id/review", ...page(() => import("@/review/ReviewPage")) },
  { path: "runs/:id/nodes/:name", ...page(() => import("@/node/NodePage")) },
  { path: "tasks/merge", ...page(() => import("@/review/TasksMergePage")) },
  { path: "chat", ...page(() => import("@/chat/ChatPage")), nav: { label: "Chat", icon: MessagesSquare, group: "organization" } },
  { path: "chat/:name", ...page(() => import("@/chat/ChatPage")) },
  { path: "agents", ...page(() => import("@/agents/AgentsPage")), nav: { label: "Agents", icon: Bot, group: "organization" } },
  { path: "agents/:name", ...page(() => import("@/agents/AgentPage")) },
  { path: "tasks", ...page(() => import("@/tasks/TasksPage")), nav: { label: "Tasks", icon: ClipboardList, group: "organization" } },
  { path: "tasks/:id", ...page(() => import("@/tasks/TaskPage")) },
  { path: "activity", ...page(() => import("@/activity/ActivityPage")), nav: { label: "Activity", icon: Activity, group: "organization" } },
  { path: "health", ...page(() => import("@/health/HealthPage")), nav: { label: "Health", icon: HeartPulse, group: "organization" } },
  { path: "budget", ...page(() => import("@/budget/BudgetPage")), nav: { label: "Budget", icon: Coins, group: "organization" } },
  { path: "plans", ...page(() => import("@/plans/PlansPage")), nav: { label: "Plans", icon: CalendarClock, group: "organization" } },
  { path: "explorer", ...page(() => import("@/explorer/ExplorerPage")), nav: { label: "Explorer", icon: FolderTree, group: "project" } },
  { path: "projects", ...page(() => import("@/projects/ProjectsPage")), nav: { label: "Projects", icon: FolderGit2, group: "project" } },
  { path: "settings", ...page(() => import("@/settings/SettingsPage")), nav: { label: "Settings", icon: Settings, group: "project" } },
  { path: "first-steps", ...page(() => import("@/onboarding/OnboardingPage")), nav: { label: "First steps", icon: ListChecks, group: "project" } },
  { path: "config/agents", ...page(() => import("@/editor/ConfigPage")), nav: { label: "Agents' graph", icon: FileCog, group: "project" } },
];

/** Loads the code of the page at a path, so that it comes while the rest starts. */
export function loadPage(path: string): void {
  const entry = pages.find((p) => matchPath(`/${p.path}`, path) !== null);
  entry?.preload?.();
}
