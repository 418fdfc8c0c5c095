import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { group, join, type Call, type Entry, type Said } from "@/conversation/group";
import { changesOf, editsOf, patchLines, summary } from "@/conversation/input";

let seq = 0;
function said(kind: Said["kind"], more: Partial<Said> = {}): Said {
  return { seq: ++seq, at: "2026-01-01T00:00:00Z", node: "api", attempt: 1, kind, ...more };
}

function calls(entries: readonly Entry[]): Call[] {
  return entries.flatMap((e) => (e.type === "calls" ? e.calls : []));
}

describe("group", () => {
  it("puts calls that follow each other in one group, and results to their calls", () => {
    const seen = group([
      said("prompt", { text: "do it" }),
      said("thought", { text: "first" }),
      said("thought", { text: "second" }),
      said("tool_use", { tool: "Read", tool_id: "1", input: { file_path: "a" } }),
      said("tool_use", { tool: "Bash", tool_id: "2", input: { command: "false" } }),
      said("tool_result", { tool_id: "2", text: "no", failed: true }),
      said("text", { text: "so it is" }),
      said("tool_result", { tool_id: "1", text: "yes" }),
      said("usage"),
      said("tool_use", { tool: "Bash", tool_id: "3" }),
    ]);
    expect(seen.map((e) => e.type)).toEqual(["attempt", "told", "thoughts", "calls", "text", "calls"]);
    expect(calls(seen).map((c) => [c.tool, c.state, c.text])).toEqual([
      ["Read", "done", "yes"],
      ["Bash", "failed", "no"],
      ["Bash", "runs", ""],
    ]);
    expect(seen[2]).toMatchObject({ texts: ["first", "second"] });
  });

  it("puts a question behind what was said before it, though cmux heard of it first, and says it once", () => {
    const at = (s: number) => ({ at: `2026-01-01T00:00:0${s}Z` });
    const seen = group([
      said("question", { ...at(3), text: "Which color?" }),
      said("status", { ...at(3), state: "needs input", text: "asked user: Which color?" }),
      said("prompt", { ...at(1), text: "You are api." }),
      said("tool_use", { ...at(2), tool: "ask", tool_id: "1" }),
      said("answer", { ...at(5), text: "Blue" }),
      said("prompt", { ...at(6), text: '<message from="user" subject="re: Which color?" re="q1">\n> Blue\n</message>' }),
      said("prompt", { ...at(7), text: '<message id="m1" from="user" subject="Paint &quot;it&quot;">\n> now\n</message>' }),
    ]);
    expect(seen.map((e) => e.type)).toEqual(["attempt", "told", "calls", "question", "answer", "told"]);
    expect(seen.at(-1)).toMatchObject({ text: 'Message from you: Paint "it"\n\nnow' });
  });

  it("keeps what a state says beyond the question, however alike both begin", () => {
    const begins = "Which color should the door of the house at the end of the road have";
    const seen = (state: string) => group([said("question", { text: `${begins}?` }), said("status", { state: "needs input", text: state })]).map((e) => e.type);
    expect(seen(`${begins}?`)).toEqual(["attempt", "question"]);
    expect(seen(`${begins}, and who waits for it`)).toEqual(["attempt", "question", "event"]);
  });

  it("ends the calls of what is over: the one of the report is done", () => {
    const work = [said("tool_use", { tool: "Bash", tool_id: "1" }), said("tool_use", { tool: "done", tool_id: "2" })];
    const states = (...more: Said[]) => calls(group([...work, ...more])).map((c) => c.state);
    expect(states()).toEqual(["runs", "runs"]);
    expect(states(said("report", { state: "done" }))).toEqual(["runs", "runs"]);
    expect(states(said("report", { state: "done" }), said("end", { state: "done" }))).toEqual(["over", "done"]);
    expect(states(said("interrupted"))).toEqual(["over", "over"]);
    expect(states(said("session", { state: "ended" }))).toEqual(["over", "over"]);
    expect(states(said("text", { text: "again", attempt: 2 }))).toEqual(["over", "over"]);
    expect(states(said("end"), said("tool_result", { tool_id: "1", text: "late" }))).toEqual(["done", "over"]);
    const idle = said("status", { state: "idle" });
    expect(group([...work, idle], (s) => s === idle).flatMap((e) => (e.type === "calls" ? e.calls.map((c) => c.state) : [e.type]))).toEqual(["attempt", "over", "over"]);
  });

  it("keeps a refusal, whatever result comes after it", () => {
    const seen = group([
      said("tool_use", { tool: "Bash", tool_id: "1" }),
      said("denied", { tool: "Bash", tool_id: "1", text: "not allowed" }),
      said("tool_result", { tool_id: "1", text: "error", failed: true }),
    ]);
    expect(calls(seen)).toMatchObject([{ state: "denied", text: "not allowed\nerror" }]);
  });

  it("shows a result whose call is on an earlier page, and tells attempts apart", () => {
    const seen = group([said("tool_result", { tool_id: "1", text: "old" }), said("tool_use", { tool_id: "1", tool: "Read", attempt: 2 })]);
    expect(seen.map((e) => e.type)).toEqual(["attempt", "calls", "attempt", "calls"]);
    expect(calls(seen).map((c) => c.state)).toEqual(["done", "runs"]);
  });

  it("says whether a check passed", () => {
    const seen = group([said("check", { command: "true", exit: 0 }), said("check", { command: "false", exit: 1 }), said("check", { command: "sleep 9", timed_out: true })]);
    expect(seen.flatMap((e) => (e.type === "check" ? [e.passed] : []))).toEqual([true, false, false]);
  });

  it("has a key of its own for each entry", () => {
    const kinds = fc.constantFrom<Said["kind"]>("prompt", "thought", "text", "tool_use", "tool_result", "denied", "status", "end", "note", "usage");
    fc.assert(
      fc.property(fc.array(fc.record({ kind: kinds, attempt: fc.integer({ min: 1, max: 3 }), tool_id: fc.constantFrom("1", "2", "") })), (list) => {
        const keys = group(list.map(({ kind, ...more }) => said(kind, { text: "x", ...more }))).map((e) => e.key);
        expect(new Set(keys).size).toBe(keys.length);
      }),
    );
  });
});

describe("join", () => {
  it("is the same whatever order and overlap the parts come in", () => {
    const all = Array.from({ length: 20 }, () => said("text"));
    fc.assert(
      fc.property(fc.array(fc.subarray(all)), (parts) => {
        const joined = [...parts, all].reduce<Said[]>((was, p) => join(was, [...p].reverse()), []);
        expect(joined.map((s) => s.seq)).toEqual(all.map((s) => s.seq));
      }),
    );
  });
});

describe("input", () => {
  it.each([
    [{ command: "ls -l\nrm x" }, "ls -l …"],
    [{ cmd: ["git", "status"] }, "git status"],
    [{ file_path: "src/a.ts", old_string: "a", new_string: "b" }, "src/a.ts"],
    [{ changes: [{ path: "a.go", diff: "+x" }] }, "a.go"],
    ["plain", "plain"],
    [undefined, ""],
    [[1], ""],
  ])("says %j in one line", (input, line) => {
    expect(summary(input)).toBe(line);
  });

  it("finds the edits of several programs", () => {
    expect(editsOf({ file_path: "a", old_string: "x", new_string: "y" })).toEqual([{ path: "a", old: "x", now: "y" }]);
    expect(editsOf({ file_path: "a", edits: [{ old_string: "x", new_string: "" }, { odd: 1 }] })).toEqual([{ path: "a", old: "x", now: "" }]);
    expect(editsOf({ path: "a", content: "all" })).toEqual([{ path: "a", old: "", now: "all" }]);
    expect(editsOf({ path: "a" })).toEqual([]);
    expect(changesOf({ changes: { "a.go": { diff: "@@\n-x\n+y\n" } } })).toEqual([{ path: "a.go", diff: "@@\n-x\n+y\n" }]);
    expect(patchLines("@@ -1 +1 @@\n-x\n+y\n z\n").map((l) => `${l.kind} ${l.text}`)).toEqual(["place @@ -1 +1 @@", "removed x", "added y", "same z"]);
  });
});
