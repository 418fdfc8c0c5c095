import { describe, expect, it } from "vitest";

import { called, grouped, matches, nowOf, whoMay, type Agent } from "@/agents/agents";
import { atWork } from "@/agents/atwork";
import { tree } from "@/agents/tree";

function agent(name: string, fields: Partial<Agent> = {}): Agent {
  return {
    agent_id: `worker:${name}`,
    name,
    kind: "scripted",
    role: "worker",
    state: "idle",
    dir: "/p",
    lives: 1,
    permanent: false,
    compactions: 0,
    reset_count: 0,
    tasks_since_reset: 0,
    tokens: 0,
    since: null,
    ...fields,
  };
}

describe("grouped", () => {
  it("puts who leads first, then teams, permanent workers and the others, and loses nobody", () => {
    const all = [
      agent("a"),
      agent("perm", { permanent: true }),
      agent("b", { team: "zeta" }),
      agent("c", { team: "alpha" }),
      agent("sentry", { role: "sentry" }),
      agent("supervisor", { role: "supervisor" }),
    ];
    const groups = grouped(all);
    expect(groups.map((g) => g.label)).toEqual(["Lead", "Team alpha", "Team zeta", "Permanent workers", "Workers"]);
    expect(groups.flatMap((g) => g.agents)).toHaveLength(all.length);
  });
});

describe("matches", () => {
  it("wants every word, wherever it stands", () => {
    const a = agent("api", { display_name: "The API", doing: "mends the login" });
    expect(matches(a, "")).toBe(true);
    expect(matches(a, "LOGIN api")).toBe(true);
    expect(matches(a, "login web")).toBe(false);
  });
});

it("an agent is called by the name a person gave it", () => {
  expect(called(agent("api", { display_name: "The API" }))).toBe("The API");
  expect(called(agent("api", { display_name: "" }))).toBe("api");
});

it("the tree has each agent once, below whom it reports to", () => {
  const all = [agent("b", { supervisor: "supervisor" }), agent("c", { supervisor: "b" }), agent("supervisor", { role: "supervisor" }), agent("sentry", { role: "sentry", supervisor: "gone" }), agent("x", { supervisor: "y" }), agent("y", { supervisor: "x" }), agent("z", { supervisor: "z" })];
  expect(tree(all).map(({ agent: a, depth }) => `${depth} ${a.name}`)).toEqual(["0 supervisor", "1 b", "2 c", "0 sentry", "0 z", "0 x", "1 y"]);
});

it("an agent's line is its question before what it does", () => {
  expect(nowOf(agent("api", { doing: "runs the tests" }))).toBe("runs the tests");
  expect(nowOf(agent("api", { doing: "runs the tests", question: { parts: [{ text: "\nWhich color?\nBlue or green" }] } }))).toBe("Which color?");
  expect(nowOf(agent("api"))).toBe("");
});

it("who works in a run are the agents of its nodes: commands and gates have none", () => {
  const node = (name: string, state: "running" | "needs input" | "done", agent = "claude", role: "build" | "gate" = "build") => ({ name, agent, role, status: { state, reason: "", by: "", detail: "", open: false, until: null, code: null } as const });
  const nodes = [node("a", "running"), node("b", "needs input"), node("c", "done"), node("d", "running", "command"), node("e", "needs input", "claude", "gate")];
  expect(atWork(nodes).map((n) => n.name)).toEqual(["a", "b"]);
});

it("a task is offered to a free worker first, and to who leads last", () => {
  const all = [agent("sup", { role: "supervisor", state: "idle" }), agent("busy", { state: "working" }), agent("watch", { role: "sentry" }), agent("free", { state: "idle" })];
  expect(whoMay(all).map((a) => a.name)).toEqual(["free", "busy", "sup"]);
});
