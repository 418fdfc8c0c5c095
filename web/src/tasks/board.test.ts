import { describe, expect, it } from "vitest";

import { byState, columnOf, columns, nextOf, orderFor, otherChecks, type State, type Task } from "@/tasks/board";

function task(state: State, id = "t1"): Task {
  return {
    id,
    state,
    title: id,
    body: "",
    label: state,
    priority: "normal",
    kind: "change",
    after: [],
    scope: [],
    verify: [],
    attempts: [],
    assigned_to: "",
    backlog: false,
    branch: "",
    changed_at: "",
    changed_by: "",
    created_at: "",
    created_by: "",
    merged: null,
    override: false,
    parent: "",
    part_of: "",
    project: "",
    reason: "",
    result: null, judged: null,
    start: null,
    work_branch: "",
    version: 1,
  };
}

const states = columns.flatMap((c) => c.states);

describe("the board", () => {
  it("has a place for each state, once", () => {
    expect(new Set(states).size).toBe(states.length);
    const all: Record<State, true> = {
      open: true, assigned: true, working: true, checking: true, "needs input": true, limited: true,
      paused: true, blocked: true, done: true, failed: true, cancelled: true,
    };
    expect([...states].sort()).toEqual(Object.keys(all).sort());
    const placed = byState(states.map((s, i) => task(s, `t${i}`)));
    expect([...placed.values()].flat()).toHaveLength(states.length);
  });

  it("takes a drop only where an order brings it there", () => {
    expect(orderFor(task("open"), "assigned")).toBe("assign");
    expect(orderFor(task("working"), "paused")).toBe("pause");
    expect(orderFor(task("open"), "paused")).toBeUndefined();
    expect(orderFor(task("checking"), "cancelled")).toBe("cancel");
    expect(orderFor(task("failed"), "done")).toBe("done");
    for (const s of states) {
      for (const none of ["open", "working", "blocked", columnOf(task(s))]) {
        expect(orderFor(task(s), none)).toBeUndefined();
      }
      expect(orderFor(task("done"), columnOf(task(s)))).toBeUndefined();
    }
  });
});

it("a task waits for who begins it, and done work for its merge", () => {
  const result = { checks: [], commits: 1, diffstat: "1 file, +1 -0", snapshot: "", summary: "", tip: "", tokens: 1 };
  const merged = { check: "", commit: "c", conflict: [], into: "", at: "", tip: "" } as unknown as NonNullable<Task["merged"]>;
  expect(nextOf(task("open"))).toBe("assign");
  expect(nextOf({ ...task("open"), backlog: true })).toBeUndefined();
  expect(nextOf(task("working"))).toBeUndefined();
  expect(nextOf({ ...task("done"), result })).toBe("merge");
  expect(nextOf({ ...task("done"), result, merged })).toBeUndefined();
  expect(nextOf(task("done"))).toBeUndefined();
});

describe("otherChecks", () => {
  const judged = (given: string[], now: string[]) => otherChecks({ judged: { given, now } });
  it("is what differs from what the task was given", () => {
    expect([otherChecks({ judged: null }), judged([], []), judged(["a", "b"], ["a", "b"]), judged(["a b"], ["a", "b"]), judged([], ["a"])]).toEqual([false, false, false, true, true]);
  });
});
