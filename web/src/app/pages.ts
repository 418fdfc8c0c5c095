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
import { lazy, type ComponentType } from "react";

/** A page of the dashboard. Each loads its own code when it is opened. */
export interface PageEntry {
  path: string; // of the router, such as "runs/:id"
  page: ComponentType;
  nav?: { label: string; icon: LucideIcon; group: "work" | "organisation" | "project" }; // missing: no line in the sidebar
}

function page(load: () => Promise<{ default: ComponentType }>): ComponentType {
  return lazy(load);
}

/** The pages, in the order of the sidebar. */
export const pages: readonly PageEntry[] = [
  { path: "", page: page(() => import("@/needs/NeedsPage")), nav: { label: "Needs you", icon: BellRing, group: "work" } },
  { path: "runs", page: page(() => import("@/runs/RunsPage")), nav: { label: "Runs", icon: Workflow, group: "work" } },
  { path: "runs/:id", page: page(() => import("@/runs/RunPage")) },
  { path: "compare", page: page(() => import("@/runs/ComparePage")) },
  { path: "review", page: page(() => import("@/review/ReviewPage")), nav: { label: "Review", icon: GitPullRequest, group: "work" } },
  { path: "runs/:id/review", page: page(() => import("@/review/ReviewPage")) },
  { path: "runs/:id/nodes/:name", page: page(() => import("@/node/NodePage")) },
  { path: "tasks/merge", page: page(() => import("@/review/TasksMergePage")) },
  { path: "chat", page: page(() => import("@/chat/ChatPage")), nav: { label: "Chat", icon: MessagesSquare, group: "organisation" } },
  { path: "chat/:name", page: page(() => import("@/chat/ChatPage")) },
  { path: "agents", page: page(() => import("@/agents/AgentsPage")), nav: { label: "Agents", icon: Bot, group: "organisation" } },
  { path: "agents/:name", page: page(() => import("@/agents/AgentPage")) },
  { path: "tasks", page: page(() => import("@/tasks/TasksPage")), nav: { label: "Tasks", icon: ClipboardList, group: "organisation" } },
  { path: "tasks/:id", page: page(() => import("@/tasks/TaskPage")) },
  { path: "activity", page: page(() => import("@/activity/ActivityPage")), nav: { label: "Activity", icon: Activity, group: "organisation" } },
  { path: "health", page: page(() => import("@/health/HealthPage")), nav: { label: "Health", icon: HeartPulse, group: "organisation" } },
  { path: "budget", page: page(() => import("@/budget/BudgetPage")), nav: { label: "Budget", icon: Coins, group: "organisation" } },
  { path: "plans", page: page(() => import("@/plans/PlansPage")), nav: { label: "Plans", icon: CalendarClock, group: "organisation" } },
  { path: "explorer", page: page(() => import("@/explorer/ExplorerPage")), nav: { label: "Explorer", icon: FolderTree, group: "project" } },
  { path: "projects", page: page(() => import("@/projects/ProjectsPage")), nav: { label: "Projects", icon: FolderGit2, group: "project" } },
  { path: "settings", page: page(() => import("@/settings/SettingsPage")), nav: { label: "Settings", icon: Settings, group: "project" } },
  { path: "first-steps", page: page(() => import("@/onboarding/OnboardingPage")), nav: { label: "First steps", icon: ListChecks, group: "project" } },
  { path: "config/agents", page: page(() => import("@/editor/ConfigPage")), nav: { label: "Agents' graph", icon: FileCog, group: "project" } },
];
