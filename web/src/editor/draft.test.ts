import fc from "fast-check";
import { expect, test } from "vitest";

import { change, changed, dirty, keep, lineOf, look, namesIn, open, restore, take, wrote, type Draft } from "@/editor/draft";

const file = (text: string | undefined) => ({ file: ".cmux-agents.yml", there: text !== undefined, text: text ?? "", sum: `sum of ${text ?? ""}` });
const typed = (draft: Draft, text: string): Draft => ({ ...draft, text });
const said = (d: Draft) => ({ text: d.text, dirty: dirty(d), changed: changed(d) });

test("a text that nobody edits follows its file", () => {
  expect(said(look(open(file("a")), file("b")))).toEqual({ text: "b", dirty: false, changed: false });
});

test("a text that is edited stays, and the change of its file is seen", () => {
  const edited = look(typed(open(file("a")), "mine"), file("b"));
  expect(said(edited)).toEqual({ text: "mine", dirty: true, changed: true });
  expect(said(take(edited))).toEqual({ text: "b", dirty: false, changed: false });
  expect(said(wrote(edited, file("mine")))).toEqual({ text: "mine", dirty: false, changed: false });
  expect(said(look(edited, file("a")))).toEqual({ text: "mine", dirty: true, changed: false });
  expect(said(look(edited, file("mine")))).toEqual({ text: "mine", dirty: false, changed: false });
});

test("what is typed while it is saved is not saved", () => {
  expect(said(typed(wrote(typed(open(file("a")), "ab"), file("ab")), "abc"))).toEqual({ text: "abc", dirty: true, changed: false });
});

test("a file that is not there is to be written, and one that went has changed", () => {
  expect(said(open(file(undefined)))).toMatchObject({ dirty: true, changed: false });
  expect(said(look(open(file("a")), file(undefined)))).toEqual({ text: "a", dirty: false, changed: true });
  expect(said(look(open(file("")), file(undefined)))).toEqual({ text: "", dirty: false, changed: true });
});

test("a draft is found again, and what its file became meanwhile is seen", () => {
  const edited = typed(open(file("a")), "mine");
  expect(said(restore(keep(edited), file("a")))).toEqual({ text: "mine", dirty: true, changed: false });
  expect(said(restore(keep(edited), file("b")))).toEqual({ text: "mine", dirty: true, changed: true });
  expect(restore(keep(edited), { ...file("b"), file: "other.yml" })).toEqual(open({ ...file("b"), file: "other.yml" }));
  expect(keep(open(file("a")))).toBe("");
  expect(keep(open(file(undefined)))).toBe("");
});

test.each([null, "", "{", "7", "null", '{"text":7,"base":{}}', '{"text":"a","base":null}', '{"text":"a","base":{"text":"a"}}'])("%j is no draft", (kept) => {
  expect(restore(kept, file("a"))).toEqual(open(file("a")));
});

test("the nodes of a text with faults have names", () => {
  expect(namesIn("session: x\nagents:\n  - name: api # first\n    task: ''\n  - {name: \"web\", x}\n  - name:\n  - role: gate\n    name: later\n")).toEqual(["api", "web"]);
});

test("a node is found by its name", () => {
  const text = "session: x\nagents:\n  - name: api # first\n    task: 'name: web'\n  - {task: y, name: \"web\"}\n  - role: gate\n    name: 'api2'\n";
  expect(["api", "web", "api2", "ap", "x"].map((n) => lineOf(text, n))).toEqual([3, 5, 7, undefined, undefined]);
});

test("a change makes one text of another", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "\n"), maxLength: 8 });
  fc.assert(
    fc.property(text, text, (was, now) => {
      const { from, to, insert } = change(was, now);
      expect(was.slice(0, from) + insert + was.slice(to)).toBe(now);
    }),
  );
  expect(change("one\ntwo\n", "one\n2\ntwo\n")).toEqual({ from: 4, to: 4, insert: "2\n" });
});
