import { describe, expect, it } from "vitest";

import { conflict, dirty, faultOfName, freeName, keep, look, open, over, restore, roleOf, take, withSaved, type Persona } from "@/personas/persona";

const file = (text: string, more: Partial<Persona> = {}): Persona => ({ name: "rae", file: ".cmux/roles/rae.md", kind: "codex", model: "", text, sum: text, used: [], own: false, fault: "", ...more });

describe("a persona that is edited", () => {
  const typed = { ...open(file("old\n")), form: { kind: "codex", model: "large", text: "mine" } };

  it("follows the file while nothing was typed", () => {
    const edit = look(open(file("old")), file("new"));
    expect([edit.form.text, dirty(edit), conflict(edit)]).toEqual(["new", false, false]);
  });

  it("keeps what was typed when somebody else changed the file, and says so", () => {
    const edit = look(typed, file("new"));
    expect([edit.form.text, dirty(edit), conflict(edit)]).toEqual(["mine", true, true]);
    expect(take(edit).form.text).toBe("new");
    expect([over(edit).form.text, over(edit).base?.sum, conflict(over(edit))]).toEqual(["mine", "new", false]);
  });

  it("keeps what was typed when the file was removed", () => {
    const edit = look(typed, undefined);
    expect([edit.form.text, conflict(edit), conflict(over(edit))]).toEqual(["mine", true, false]);
  });

  it("has nothing to say when both mean the same", () => {
    const edit = look(typed, file("mine\n", { model: "large", sum: "x" }));
    expect([dirty(edit), conflict(edit)]).toEqual([false, false]);
  });

  it("is in the list as it was saved, by its name", () => {
    const other = { ...file("other"), name: "ann" };
    expect(withSaved([other, file("old")], file("new")).map((p) => p.text)).toEqual(["other", "new"]);
    expect(withSaved([file("old")], other).map((p) => p.name)).toEqual(["ann", "rae"]);
  });

  it("is found again, with what the file became meanwhile", () => {
    expect(keep(open(file("old")))).toBe("");
    const again = restore(keep(typed), file("new"));
    expect([again.form.text, conflict(again)]).toEqual(["mine", true]);
    expect(restore(keep({ form: { kind: "", model: "", text: "x" }, base: undefined, disk: undefined }), undefined).form.text).toBe("x");
    expect(restore("nonsense", file("old")).form.text).toBe("old");
    expect(restore('{"form":{"text":1}}', file("old")).form.text).toBe("old");
  });
});

it.each([
  ["", undefined],
  ["critic", undefined],
  ["../x", "A name has letters, digits, - and _, at most 40."],
  [".x", "A name has letters, digits, - and _, at most 40."],
  ["x".repeat(41), "A name has letters, digits, - and _, at most 40."],
  ["RAE", "There is a persona RAE already: edit that one."],
])("the name %j: %s", (name, fault) => expect(faultOfName(name, [file("x")])).toBe(fault));

it("takes a kind from the persona where none was typed", () => {
  const all = [file("x")];
  expect([roleOf("", "rae", all), roleOf("claude", "rae", all), roleOf("", "nobody", all)]).toEqual([{ role: "rae", kind: "codex" }, { role: "rae", kind: "claude" }, { role: "nobody", kind: "" }]);
});

it("gives a try a name that is free and not too long", () => {
  expect([freeName("rae", []), freeName("rae", ["try-rae", "try-rae-2"]), freeName("Rae", ["try-rae"])]).toEqual(["try-rae", "try-rae-3", "try-Rae-2"]);
  expect(freeName("x".repeat(40), []).length).toBeLessThanOrEqual(36);
});
