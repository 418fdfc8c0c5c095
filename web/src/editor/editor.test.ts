import { expect, test } from "vitest";

import { choices, placeOf, type Schema } from "@/editor/complete";
import { offsetOf } from "@/editor/faults";

const schema: Schema = {
  $defs: { agent: { properties: { name: { description: "Its `name`" }, role: { enum: ["build", "gate"] }, budget: { properties: { tokens: {} } }, auto_accept: { type: "boolean" } } } },
  properties: { session: { description: "The session" }, agents: { items: { $ref: "#/$defs/agent" } }, defaults: { $ref: "#/$defs/agent" }, pools: { additionalProperties: { type: "integer" } } },
};

/** What can be written at | in a text. */
const at = (text: string) => {
  const place = placeOf(text.replace("|", ""), text.indexOf("|"));
  return place ? choices(schema, place).map((c) => c.label) : undefined;
};

const agent = ["name", "role", "budget", "auto_accept"];

test.each([
  ["|", ["session", "agents", "defaults", "pools"]],
  ["session: x\nag|", ["session", "agents", "defaults", "pools"]],
  ["defaults:\n  |", agent],
  ["agents:\n  - |", agent],
  ["agents:\n- na|", agent],
  ["agents:\n  - name: a\n    ro|", agent],
  ["agents:\n- name: a\n  ro|", agent],
  ["agents:\n  - name: a\n\n  # more\n  - name: b\n    budget:\n      |", ["tokens"]],
  ["agents:\n  - name: a\n    role: |", ["build", "gate"]],
  ["agents:\n  - role: ga|", ["build", "gate"]],
  ["defaults:\n  auto_accept: |", ["true", "false"]],
  ["agents:\n  - name: a\nse|", ["session", "agents", "defaults", "pools"]],
  ["pools:\n  |", []],
  ['session: "a b" c|', undefined],
])("at %j fits %j", (text, labels) => expect(at(text)).toEqual(labels));

test("a key says what it is for", () => {
  const place = placeOf("agents:\n  - ", 12);
  expect(place && choices(schema, place)[0]).toEqual({ label: "name", info: "Its name", kind: "key" });
});

test("a place of the file is one of the text, however wrong", () => {
  const text = "one\ntwo\n";
  expect(offsetOf(text, 1, 1)).toEqual([0, 3]);
  expect(offsetOf(text, 2, 2)).toEqual([5, 7]);
  expect(offsetOf(text, 2, 99)).toEqual([7, 7]);
  expect(offsetOf(text, 99, 1)).toEqual([8, 8]);
  expect(offsetOf("", 0, 0)).toEqual([0, 0]);
});
