import { expect, test } from "vitest";

import { actionsOf, commonActions, answerByKey } from "@/needs/actions";
import type { Api } from "@/api/client";

const need = (over: Partial<Api<"Need">>): Api<"Need"> => ({ id: "x", kind: "node", called: "Question", title: over.name ?? "x", name: "x", label: "needs input", text: "", ...over });
const keys = (n: Api<"Need">) => actionsOf(n).map((a) => `${a.key} ${a.label}`);

test.each([
  [{ orders: ["approve", "override", "stop"] }, ["a Approve", "o Override", "d Cancel node"]],
  [{ orders: ["answer", "attach", "stop"], question: { parts: [{ text: "?" }] } }, ["d Cancel node"]],
  [{ orders: ["answer", "attach", "stop"], question: { parts: [{ text: "?" }], permission: { tool: "Bash" } } }, [" Cancel node"]],
  [{ kind: "agent", orders: ["answer", "terminal"], task: "t1", question: { parts: [{ text: "ended" }], silent: true } }, ["r Assign again", "d Cancel task"]],
  [{ label: "taken over", orders: ["release", "attach"] }, ["r Release"]],
  [{ kind: "failure", orders: ["retry", "logs", "override"] }, ["r Retry", "o Override"]],
  [{ kind: "failure", orders: ["logs", "override"] }, ["o Override"]],
  [{ kind: "review" }, ["a Approve", "d Drop"]],
  [{ kind: "run", orders: ["resume"] }, ["r Resume run"]],
  [{ kind: "run" }, []],
  [{ kind: "task" }, ["p Put back", "o Call done", "d Cancel task"]],
  [{ kind: "task", agent: "painter" }, ["r Assign again", "p Put back", "o Call done", "d Cancel task"]],
  [{ kind: "merge" }, ["a Merge task"]],
  [{ kind: "incident" }, ["a Acknowledge"]],
  [{ kind: "message" }, ["a Mark as read"]],
  [{ kind: "agent", orders: ["wake", "reset"] }, ["r Wake", "o Reset"]],
  [{ kind: "room", orders: ["continue"] }, ["r Continue the round"]],
  [{ kind: "room", orders: ["resume"], try: "cmux rooms resume design" }, ["r Resume"]],
  [{ kind: "room", orders: ["resume"], try: "cmux rooms open design" }, ["r Start the monitor"]],
  [{ kind: "room", orders: ["wake"], member: "ann" }, ["r Wake"]],
  [{ kind: "room", orders: ["stop", "wait"], member: "ann" }, ["r Give it more time", "d Stop the turn"]],
  [{ kind: "room", orders: ["skip"], member: "ann" }, ["o Skip"]],
  [{ kind: "room", orders: ["release", "terminal"], member: "ann" }, ["r Release"]],
  [{ kind: "room" }, []],
  [{ kind: "limit" }, []],
  [{ kind: "limit", orders: ["release"], nodes: ["api"] }, ["r Try now"]],
] as const)("%j is decided by %j", (over, want) => {
  expect(keys(need(over as Partial<Api<"Need">>))).toEqual(want);
});

test("no key of a need does two things", () => {
  for (const n of [need({ orders: ["approve", "release", "retry", "override", "stop"] }), need({ kind: "agent", orders: ["release", "wake", "reset"] })]) {
    const all = actionsOf(n).filter((a) => a.key !== "r"); // what is taken over does not fail
    expect(new Set(all.map((a) => a.key)).size).toBe(all.length);
  }
});

test("of several needs only what fits all is offered", () => {
  const gate = need({ orders: ["approve", "override"] });
  expect(commonActions([gate, gate]).map((a) => a.id)).toEqual(["approve", "override"]);
  expect(commonActions([gate, need({ kind: "failure", orders: ["retry", "override"] })]).map((a) => a.id)).toEqual(["override"]);
  expect(commonActions([gate, need({ kind: "review" })])).toEqual([]);
  expect(commonActions([])).toEqual([]);
});

test("a key chooses an option of a question of one part, or allows and denies", () => {
  const asks = (question: Api<"Question">, orders = ["answer"]) => need({ question, orders });
  expect(answerByKey(asks({ parts: [{ text: "?", options: ["blue", "red"] }] }), "2")).toBe("red");
  expect(answerByKey(asks({ parts: [{ text: "?", options: ["blue", "red"] }] }), "3")).toBeUndefined();
  expect(answerByKey(asks({ parts: [{ text: "?" }], permission: { tool: "Bash" } }), "1")).toBe("yes");
  expect(answerByKey(asks({ parts: [{ text: "?" }], permission: { tool: "Bash" } }), "a")).toBe("yes");
  expect(answerByKey(asks({ parts: [{ text: "?" }], permission: { tool: "Bash" } }), "d")).toBe("no");
  expect(answerByKey(asks({ parts: [{ text: "?", options: ["a"] }] }), "a")).toBeUndefined();
  expect(answerByKey(asks({ parts: [{ text: "?", options: ["a"] }, { text: "!" }] }), "1")).toBeUndefined();
  expect(answerByKey(asks({ parts: [{ text: "?", options: ["a"] }], in_pane: true }, ["attach"]), "1")).toBeUndefined();
  expect(answerByKey(need({}), "1")).toBeUndefined();
});
