import { hooks, type Api } from "@/api/client";
import type { Tone } from "@/ui/label";

export type Agent = Api<"AgentReport">;

export function useAgents() {
  return hooks.useQuery("get", "/api/agents");
}

/** The agents that are not members of a room: these stand on its page, and rest whenever nobody asks them. */
export function outOfRooms(agents: readonly Agent[]): readonly Agent[] {
  return agents.filter((a) => a.role !== "member");
}

/** What an agent is called: the name a person gave it, or its own. */
export function called(a: Agent): string {
  return a.display_name === undefined || a.display_name === "" ? a.name : a.display_name;
}

/** What an agent asks, or what it does, in one line; empty: nothing is known. */
export function nowOf(a: Pick<Agent, "question" | "doing">): string {
  const [asked] = a.question?.parts ?? [];
  return asked === undefined ? (a.doing ?? "") : (asked.text.split("\n").find((l) => l.trim() !== "") ?? "");
}

const tones: Readonly<Record<Agent["state"], Tone>> = {
  starting: "info",
  idle: "muted",
  working: "info",
  checking: "info",
  "needs input": "warn",
  "taken over": "warn",
  limited: "warn",
  down: "bad",
  stopped: "warn",
  going: "muted",
};

export function toneOfAgent(a: Agent): Tone {
  return tones[a.state];
}

export interface AgentGroup {
  label: string;
  agents: readonly Agent[];
}

/** Agents as they belong together: who leads, teams, permanent workers, the others. */
export function grouped(agents: readonly Agent[]): readonly AgentGroup[] {
  const groups = new Map<string, Agent[]>();
  for (const a of agents) {
    const label = groupOf(a);
    groups.set(label, [...(groups.get(label) ?? []), a]);
  }
  const rank = (label: string) => (label === lead ? 0 : label === permanent ? 2 : label === others ? 3 : 1);
  return [...groups]
    .map(([label, members]) => ({ label, agents: members }))
    .sort((a, b) => rank(a.label) - rank(b.label) || a.label.localeCompare(b.label));
}

const lead = "Lead";
const permanent = "Permanent workers";
const others = "Workers";

function groupOf(a: Agent): string {
  if (a.role === "supervisor" || a.role === "sentry") {
    return lead;
  }
  if (a.team !== undefined && a.team !== "") {
    return `Team ${a.team}`;
  }
  return a.permanent ? permanent : others;
}

/** Whether every word of what was typed is in the agent's line. */
export function matches(a: Agent, typed: string): boolean {
  const line = [a.name, a.display_name, a.role, a.kind, a.team, a.state, a.doing, a.task, a.branch].join(" ").toLowerCase();
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => line.includes(word));
}

/** The agents that take a task, those first that do the work themselves. */
export function whoMay(agents: readonly Agent[]): Agent[] {
  const rank = (a: Agent) => (a.role !== "worker" ? 2 : a.state === "idle" ? 0 : 1);
  return agents.filter((a) => a.role !== "sentry" && a.role !== "member").sort((a, b) => rank(a) - rank(b));
}
