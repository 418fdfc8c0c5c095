import type { Agent } from "@/agents/agents";

/** An agent with its depth below those whom it reports to. */
export interface Branch {
  agent: Agent;
  depth: number;
}

const rank = (a: Agent) => (a.role === "supervisor" ? 0 : a.role === "sentry" ? 1 : 2);

/** The agents below those whom they report to, each once; who reports to nobody that is there stands at the top. */
export function tree(agents: readonly Agent[]): Branch[] {
  const names = new Set(agents.map((a) => a.name));
  const below = new Map<string, Agent[]>();
  for (const a of [...agents].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name))) {
    const boss = a.supervisor !== undefined && a.supervisor !== a.name && names.has(a.supervisor) ? a.supervisor : "";
    below.set(boss, [...(below.get(boss) ?? []), a]);
  }
  const all: Branch[] = [];
  const seen = new Set<string>();
  const walk = (a: Agent, depth: number) => {
    if (seen.has(a.name)) {
      return;
    }
    seen.add(a.name);
    all.push({ agent: a, depth });
    for (const b of below.get(a.name) ?? []) {
      walk(b, depth + 1);
    }
  };
  for (const a of below.get("") ?? []) {
    walk(a, 0);
  }
  for (const a of agents) {
    walk(a, 0); // those that report to each other
  }
  return all;
}
