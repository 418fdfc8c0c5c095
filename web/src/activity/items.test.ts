import { describe, expect, it } from "vitest";

import { feed, lanes, ofEvent, ofFrame, passes, saidOf } from "@/activity/items";

const at = "2030-01-01T00:00:00Z";

describe("an event as a line", () => {
  it("says what each source is about", () => {
    const line = (source: string, kind: string, body: unknown) => {
      const i = ofEvent({ seq: 1, at, source, kind, body });
      return `${i.who}| ${i.text}`;
    };
    expect(line("agent:api", "tool_use", { tool: "Bash", input: { command: "go test" } })).toBe("api| Bash go test");
    expect(line("run:r1/api", "check", { command: "make", text: "broken" })).toBe("api| make broken");
    expect(line("mailbox", "message", { from: "user", to: "api", subject: "Hello" })).toBe("user| to api: Hello");
    expect(line("tasks", "move", { task: "t1", op: "move", to: "done", by: "cmux" })).toBe("cmux| t1 move done");
    expect(line("room:design", "said", { by: "ann", to: "user", text: "SQLite." })).toBe("ann| design: to user: SQLite.");
    expect(line("room:design", "over", { member: "ann", how: "failed", why: "it crashed" })).toBe("ann| design: failed it crashed");
    expect(line("audit", "order", { by: "user", order: "agents reset", about: "api", refused: "no" })).toBe("user| agents reset api no");
    expect(line("journal", "entry", "no object")).toBe("| ");
    expect(line("mailbox", "message", { from: 5, subject: ["a"] })).toBe("| ");
  });

  it("is bad where something was refused or failed", () => {
    expect(ofFrame({ event: "agent_event", seq: 2, at, source: "agent:a", kind: "tool_result", data: { failed: true } }).tone).toBe("bad");
  });
});

it("an event of a conversation is read as one, whatever its line holds", () => {
  const said = saidOf({ seq: 3, at, source: "agent:api", kind: "tool_use", body: { tool: "Bash", input: { command: "ls" }, exit: 1, text: 5, failed: "yes" } });
  expect(said).toMatchObject({ seq: 3, kind: "tool_use", tool: "Bash", input: { command: "ls" }, exit: 1, failed: false });
  expect(said?.text).toBeUndefined();
  expect(saidOf({ seq: 3, at, source: "run:r1/api", kind: "text", body: "no object" })).toBeUndefined();
  expect(saidOf({ seq: 3, at, source: "tasks", kind: "add", body: {} })).toBeUndefined();
});

describe("passes", () => {
  const i = ofEvent({ seq: 1, at, source: "agent:api", kind: "text", body: {} });
  it("knows a source, the beginning of several, and a kind", () => {
    expect(passes(i, { source: "", kind: "" })).toBe(true);
    expect(passes(i, { source: "agent:", kind: "" })).toBe(true);
    expect(passes(i, { source: "agent:ap", kind: "" })).toBe(false);
    expect(passes(i, { source: "agent:api", kind: "text" })).toBe(true);
    expect(passes(i, { source: "", kind: "thought" })).toBe(false);
  });
});

it("what is newer than the answer comes in front of it, once", () => {
  const items = (...seqs: number[]) => seqs.map((seq) => ofEvent({ seq, at, source: "tasks", kind: "add", body: {} }));
  expect(feed(items(4, 5, 6, 7), items(5, 3), 5).map((i) => i.seq)).toEqual([7, 6, 5, 3]);
});

it("lanes count every event once", () => {
  const all = [0, 1, 2, 3, 10].map((s, i) => ofEvent({ seq: i, at: new Date(s * 1000).toISOString(), source: s < 3 ? "agent:a" : "tasks", kind: "x", body: {} }));
  const { lanes: found } = lanes(all, 5, 9, () => undefined);
  expect(found.map((l) => [l.label, l.total, l.cells.reduce((a, b) => a + b, 0)])).toEqual([
    ["a", 3, 3],
    ["tasks", 2, 2],
  ]);
  const nodes = ["r1/api", "r2/api", "r3/api"].map((at, seq) => ({ seq, at: "2030-01-01T00:00:00Z", source: `run:${at}`, kind: "x", body: {} }));
  expect(lanes(nodes, 5, 9, (id) => (id === "r3" ? undefined : `release ${id}`)).lanes.map((l) => l.label)).toEqual(["api in release r1", "api in release r2", "api in r3"]);
  expect(lanes([], 5, 9, () => undefined).lanes).toEqual([]);
});
