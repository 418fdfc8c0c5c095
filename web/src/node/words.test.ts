import { describe, expect, it } from "vitest";

import { labelText, lastOutput, nodeKind, reasonOf, stageOf, talksNow, took, tookText, whereOf } from "@/node/words";

describe("words of a node", () => {
  it.each([
    ["8.255021ms", "8 ms"],
    ["1m2.5s", "1 m 3 s"],
    ["950µs", "1 ms"],
    ["4.2s", "4.2 s"],
    ["2h0m0s", "120 m 0 s"],
  ])("say a duration of %s as %s", (duration, text) => {
    expect(tookText(duration)).toBe(text);
  });

  it.each([
    [["one", "two", "", ""], false, "one\ntwo"],
    [["one", "── cmux: check: make", "broken"], true, "one"],
    [["one", "── cmux: check: make", "broken"], false, "one\nbroken"],
    [["── unit: attempt 1, 2026-03-01 12:00:00 ──", "── cmux: exit 3"], false, ""],
    [["", "── cmux: check: make", "broken"], true, ""],
    [[], true, ""],
    [Array.from({ length: 20 }, (_, i) => String(i)), false, "4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19"],
  ] as const)("have the last output of %j, without checks %s", (log, unchecked, text) => {
    expect(lastOutput(log, unchecked)).toBe(text);
  });

  it.each([
    [{ where: "home" }, 1, ""],
    [{}, 0, ""],
    [{}, 1, "no machine yet"],
    [{ where: "box", machine: "box" }, 1, "box"],
    [{ where: "box", machine: "box", heard_at: new Date(2026, 2, 1, 14, 3).toISOString() }, 2, "box, no contact since 14:03"],
  ])("say of %j with %d attempts that it is on: %s", (node, attempts, text) => {
    expect(whereOf(node, attempts)).toBe(text);
  });

  it("say a label as cmux does", () => {
    const label = { by: "", detail: "", open: false, until: null, code: null, reason: "", state: "done" } as const;
    expect(labelText(label)).toBe("done");
    expect(labelText({ ...label, state: "failed", code: 7 })).toBe("failed (exit 7)");
    expect(labelText({ ...label, state: "failed", reason: "checks" })).toBe("failed (checks)");
    expect(labelText({ ...label, reason: "override", open: true })).toBe("done (override), still open");
    expect(labelText({ ...label, state: "failed", reason: "setup", code: 2 })).toBe("failed (setup, 2)");
    expect(labelText({ ...label, reason: "override" })).toBe("done (override)");
    expect(labelText({ ...label, state: "lost" })).toBe("lost");
    expect(labelText({ ...label, state: "blocked", by: "api", reason: "failed" })).toBe("blocked (api failed)");
    expect(took(59.96e9)).toBe("60.0 s");
  });

  it.each([
    ["needs input", "asks"],
    ["failed", "failed"],
    ["lost", "failed"],
    ["done", "done"],
    ["skipped", "done"],
    ["running", "works"],
    ["checking", "works"],
    ["blocked", "waits"],
    ["waiting", "waits"],
  ] as const)("put %s into the stage %s", (state, stage) => {
    expect(stageOf({ state })).toBe(stage);
  });

  it("say of what was at work when its run was stopped that it stopped, and waits for the run", () => {
    const label = { by: "", detail: "", open: false, until: null, code: null, reason: "stopped", state: "lost" } as const;
    expect(labelText(label)).toBe("stopped");
    expect(stageOf(label)).toBe("waits");
    expect(reasonOf({ role: "build", reason: "its attempt ended; stopped: cmux agents resume" }, "lost")).toBe("its attempt ended; stopped");
  });

  it("show the conversation of a node once: in its overview while it is live, else in a tab", () => {
    expect((["asks", "works", "failed", "done", "waits"] as const).filter(talksNow)).toEqual(["asks", "works"]);
  });

  it("say of a gate that it waits for the reader, and no command", () => {
    expect(reasonOf({ role: "gate", reason: "cmux agents approve release" }, "needs input")).toBe("waits for your approval");
    expect(reasonOf({ role: "gate", reason: "waits for api" }, "waiting")).toBe("waits for api");
    expect(reasonOf({ role: "build" }, "done")).toBe("");
  });
});

it.each([
  [{ role: "gate", agent: "claude" }, "gate"],
  [{ role: "build", agent: "command" }, "command"],
  [{ role: "review", agent: "claude" }, "review, claude"],
  [{ role: "merge", agent: "" }, "merge"],
])("%j is a %s", (node, text) => expect(nodeKind(node)).toBe(text));
