import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { tellDecisions, undecided, type Decision } from "@/activity/decisions";
import { kinds, story, tell, tellNodes, tellRuns, type Known, type Told } from "@/activity/story";
import { runNames } from "@/activity/useFeed";

const at = "2030-01-01T00:00:00Z";
const known: Known = { run: (id) => (id === "r1" ? "release" : undefined), task: (id) => (id === "t1" ? "Paint the door" : undefined) };
const said = (t: Told | undefined) => t && `${t.about}: ${[t.who.text, t.does, t.what?.text ?? ""].filter((p) => p !== "").join(" ")}${t.more === "" ? "" : `: ${t.more}`}`;
const line = (source: string, kind: string, body: unknown) => said(tell({ seq: 1, at, source, kind, body }, known));

describe("an event as a line of the story", () => {
  it.each([
    ["mailbox", "message", { from: "user", to: "supervisor", subject: "Good morning" }, "messages: You wrote to supervisor: Good morning"],
    ["mailbox", "message", { from: "api", to: "user", subject: "", body: "Hi\nthere" }, "messages: api wrote to you: Hi there"],
    ["mailbox", "delivery", { to: "api", state: "handed" }, undefined],
    ["mailbox", "delivery", { to: "api", state: "failed", why: "it is down" }, "trouble: cmux could not deliver a message to api: it is down"],
    ["tasks", "add", { task: "t2", by: "user", title: "Mend\nit", backlog: false }, "tasks: You added the task t2 Mend it"],
    ["tasks", "add", { task: "t3", by: "supervisor", title: "Later", backlog: true }, "tasks: supervisor added to the backlog t3 Later"],
    ["tasks", "move", { task: "t1", by: "user", to: "assigned", agent: "painter" }, "tasks: You gave painter the task t1 Paint the door"],
    ["tasks", "move", { task: "t1", by: "cmux", to: "working" }, "tasks: t1 Paint the door is under way"],
    ["tasks", "move", { task: "t1", by: "cmux", to: "needs input", reason: "Which color?" }, "trouble: t1 Paint the door needs you: Which color?"],
    ["tasks", "move", { task: "t9", by: "user", to: "cancelled", reason: "not now" }, "tasks: You cancelled t9: not now"],
    ["tasks", "move", { task: "t1", by: "cmux", to: "checking" }, undefined],
    ["tasks", "verdict", { task: "t1", by: "cmux", end: { outcome: "done" } }, "tasks: t1 Paint the door is done"],
    ["tasks", "verdict", { task: "t1", by: "cmux", end: { outcome: "cancelled" } }, undefined],
    ["tasks", "edit", { task: "t1", by: "user" }, undefined],
    ["incidents", "open", { incident: "i1", op: "open", title: "make test fails" }, "trouble: cmux found a problem: make test fails"],
    ["incidents", "ack", { incident: "i1", op: "ack", by: "user", text: "I know" }, "people: You acknowledged incident i1: I know"],
    ["journal", "entry", { by: "user", title: "A day" }, "people: You wrote in the journal: A day"],
    ["audit", "order", { by: "user", order: "agents start", how: "command" }, "people: You started a run"],
    ["audit", "order", { by: "user", order: "agents approve", about: "approval", how: "command" }, "people: You approved the gate approval"],
    ["audit", "order", { by: "user", order: "workers kill", about: "api", how: "command" }, "people: You removed api"],
    ["audit", "order", { by: "user", order: "config apply", about: "", how: "command" }, "people: You ran cmux config apply"],
    ["audit", "order", { by: "user", order: "spawn", about: "api", how: "request" }, undefined],
    ["audit", "order", { by: "user", order: "tasks assign", about: "t1", how: "command" }, undefined],
    ["audit", "order", { by: "api", order: "workers kill", about: "web", how: "command", refused: "it is a person's to give" }, "trouble: cmux refused that api removed web: it is a person's to give"],
    ["audit", "order", { by: "user", order: "POST /api/runs/r1/nodes/gate%20one/approve", how: "api session" }, "people: You approved the gate gate one"],
    ["audit", "order", { by: "user", order: "POST /api/runs/r1/stop", how: "api session" }, "people: You stopped the run release"],
    ["audit", "order", { by: "user", order: "POST /api/runs", how: "api session" }, "people: You started a run"],
    ["audit", "order", { by: "user", order: "POST /api/runs/plan", how: "api session" }, undefined],
    ["audit", "order", { by: "user", order: "DELETE /api/agents/api", how: "api session" }, "people: You removed api"],
    ["audit", "order", { by: "user", order: "PUT /api/graph", how: "api session" }, "people: You edited the graph"],
    ["audit", "order", { by: "user", order: "POST /api/login/links", how: "api token" }, undefined],
    ["audit", "order", { by: "user", order: "POST /api/tasks/t1/cancel", how: "api session" }, undefined],
    ["audit", "call", { tool_name: "Bash" }, undefined],
    ["run:r1/api", "status", { state: "setting up" }, "work: api started in release"],
    ["run:r1/api", "status", { state: "working" }, undefined],
    ["agent:api", "status", { state: "needs input", text: "Which?" }, "trouble: api needs you: Which?"],
    ["run:r1/api", "question", { text: "Which way?" }, "trouble: api asks in release: Which way?"],
    ["run:r1/api", "answer", { text: "left" }, "people: You answered api: left"],
    ["run:r1/api", "check", { command: "make test", failed: true }, "trouble: api failed the check make test"],
    ["run:r1/api", "check", { command: "make test", failed: false }, undefined],
    ["run:r1/api", "end", { state: "done", text: "Went left" }, "work: api is done in release: Went left"],
    ["run:r1/api", "end", { state: "failed (checks)", failed: true }, "work: api ended: failed (checks) in release"],
    ["agent:api", "hand_back", { text: "New task t1. Only this task counts" }, undefined],
    ["agent:api", "hand_back", { text: '<message id="a" from="user">' }, undefined],
    ["agent:api", "hand_back", { text: "You ended your turn without reporting" }, "work: cmux sent back api: You ended your turn without reporting"],
    ["agent:api", "denied", { tool: "Bash", text: "it is not yours" }, "trouble: cmux refused Bash of api: it is not yours"],
    ["agent:api", "tool_use", { tool: "Bash" }, undefined],
    ["agent:api", "thought", { text: "hm" }, undefined],
    ["journal", "entry", "no object", "people: cmux wrote in the journal"],
    ["of the future", "x", {}, undefined],
  ])("%s %s %o", (source, kind, body, wanted) => expect(line(source, kind, body)).toBe(wanted));

  it("leads to what it names", () => {
    const e = tell({ seq: 1, at, source: "run:r 1/a b", kind: "end", body: { state: "done" } }, known);
    expect(e?.who.to).toBe("/runs/r%201/nodes/a%20b");
  });

  it("takes any body", () => {
    fc.assert(
      fc.property(fc.constantFrom("mailbox", "tasks", "incidents", "journal", "audit", "agent:a", "run:r/n"), fc.constantFrom(...kinds), fc.anything(), (source, kind, body) => {
        const t = tell({ seq: 1, at, source, kind, body }, known);
        expect(t === undefined || t.does !== "").toBe(true);
      }),
    );
  });
});

const after = (s: number) => new Date(Date.parse(at) + s * 1000).toISOString();
const told = (seq: number, s: number, source: string, kind: string, body: unknown) => tell({ seq, at: after(s), source, kind, body }, known) ?? expect.fail("no line");

describe("the story", () => {
  it("is in order of time, with the runs", () => {
    const run = { id: "r1", session: "release", state: "failed", done: 2, nodes: 6, failed: 1, started_at: after(1), ended_at: after(5) };
    const lines = story([told(7, 3, "run:r1/api", "end", { state: "done" }), ...tellRuns([run])]);
    expect(lines.map(said)).toEqual(["trouble: Run release failed: 2 of 6 nodes done, 1 failed", "work: api is done in release", "work: Run release started: 6 nodes"]);
  });

  it("tells how attempts of nodes ended that are in no log", () => {
    const nodes = [
      { name: "web", spans: [{ attempt: 1, ended: after(1), label: "failed (exit 3)", state: "failed" }, { attempt: 2, ended: null, label: "", state: "" }] },
      { name: "api", spans: [{ attempt: 1, ended: after(3), label: "done", state: "done" }] },
    ];
    const lines = tellNodes({ id: "r1", session: "release" }, nodes, (source) => source === "run:r1/api");
    expect(story(lines).map(said)).toEqual(["trouble: web ended: failed (exit 3) in release"]);
  });

  it("tells what a person decided about nodes, once", () => {
    const of = (name: string, more: Partial<Decision>): Decision => ({ name, gate: false, state: "done", reason: "", at: after(1), ...more });
    const decisions = tellDecisions({ id: "r1", session: "release" }, [
      of("approval", { gate: true, at: after(6) }),
      of("legal", { gate: true, state: "failed", reason: "cancelled", at: after(5) }),
      of("web", { reason: "override", at: after(4) }),
      of("docs", { state: "failed", reason: "cancelled", at: after(3) }),
      of("api", { review: { verdict: "sent back", comment: "Add\na test", at: after(2) } }),
      of("schema", {}),
      of("later", { gate: true, state: "needs input" }),
    ]);
    const order = (seq: number, s: number, text: string) => told(seq, s, "audit", "order", { by: "user", order: text, how: "api token" });
    const lines = [order(1, 6, "POST /api/runs/r1/nodes/approval/approve"), order(2, 2, "POST /api/runs/r1/nodes/api/review"), order(3, 60, "POST /api/runs/r1/nodes/web/retry")];
    expect(story([...undecided(lines, decisions), ...decisions]).map(said)).toEqual([
      "people: You retried web",
      "people: You approved the gate approval in release",
      "people: You refused the gate legal in release",
      "people: You called done web in release",
      "people: You cancelled docs in release",
      "people: You sent back the work of api in release: Add a test",
    ]);
  });

  it("says equal lines in a row once, with how many there were", () => {
    const back = (seq: number) => told(seq, seq, "agent:a", "hand_back", { text: `You ended your turn (reminder ${seq} of 3)` });
    expect(story([back(1), back(2), back(3)]).map((t) => [t.seq, t.times])).toEqual([[3, 3]]);
    expect(story([back(1), told(2, 2, "agent:b", "denied", { tool: "Bash" }), back(3)]).map((t) => t.times)).toEqual([1, 1, 1]);
  });

  it("says once what a task and its agent both say", () => {
    const lines = [told(1, 1, "agent:painter", "status", { state: "needs input", text: "Which?" }), told(2, 1.1, "tasks", "move", { task: "t1", by: "cmux", to: "needs input", reason: "Which?" })];
    expect(story(lines).map((t) => t.who.text)).toEqual(["t1 Paint the door"]);
  });
});

it("no two runs have the same name", () => {
  const run = (id: string, session: string, started_at: string | null) => ({ id, session, started_at }) as Parameters<typeof runNames>[0][number];
  const name = runNames([run("a", "shop", after(0)), run("f", "shop", after(1)), run("b", "shop", after(90)), run("c", "release", after(0)), run("d", "shop", null)]);
  expect(new Set(["a", "b", "c", "d", "f"].map(name)).size).toBe(5);
  expect(name("c")).toBe("release");
  expect(name("e")).toBeUndefined();
});
