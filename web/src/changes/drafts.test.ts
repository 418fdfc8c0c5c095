import { describe, expect, it } from "vitest";

import { addDraft, changeDraft, discard, draftsOf, finishTyped, forgetDrafts, keepTyped, rehydrate, typedOf } from "@/changes/drafts";

const source = { kind: "task", id: "t1" } as const;
const texts = () => draftsOf(source).map((d) => d.comment.text);

describe("comments that are not sent yet", () => {
  it("are forgotten once they were sent, also when the page was loaded again meanwhile", async () => {
    addDraft(source, { path: "a", text: "one" });
    addDraft(source, { path: "a", text: "one" }); // the same words twice are two comments
    const sent = draftsOf(source);
    await rehydrate();
    addDraft(source, { path: "a", text: "meanwhile" });
    expect(draftsOf(source)[0]).not.toBe(sent[0]);
    forgetDrafts(source, sent.slice(0, 1));
    expect(texts()).toEqual(["one", "meanwhile"]);
    forgetDrafts(source, sent);
    expect(texts()).toEqual(["meanwhile"]);
    expect(draftsOf({ kind: "node", run: "t1", node: "" })).toEqual([]);
    changeDraft(source, draftsOf(source)[0]?.id ?? "", "other words");
    expect(draftsOf(source).map((d) => d.comment)).toEqual([{ path: "a", text: "other words" }]);
    forgetDrafts(source, draftsOf(source));
  });
});

describe("a comment that is being typed", () => {
  const at = (line: number) => ({ path: "a", old: false, line, to: line });
  it("is kept for each place, also when the page is loaded again", async () => {
    keepTyped(source, at(1), "half");
    keepTyped(source, at(2), "other");
    keepTyped(source, at(1), "half a sentence");
    expect(localStorage.getItem("cmux-comments")).toContain("half a sentence");
    await rehydrate();
    expect(typedOf(source).map((t) => [t.place.line, t.text])).toEqual([
      [2, "other"],
      [1, "half a sentence"],
    ]);
    keepTyped(source, at(1), "");
    expect(typedOf(source).map((t) => t.text)).toEqual(["other"]);
  });

  it("is sent as a comment with the others, and what nobody wants goes alone", () => {
    const of = { kind: "node", run: "r", node: "a" } as const;
    keepTyped(of, at(1), " half ", "a line");
    keepTyped(of, { path: "b", old: true, line: 2, to: 4 }, "whole");
    keepTyped(of, at(3), "  ");
    finishTyped(of);
    expect(typedOf(of)).toEqual([]);
    expect(draftsOf(of).map((d) => d.comment)).toEqual([
      { path: "a", line: 1, quote: "a line", text: "half" },
      { path: "b", line: 2, to: 4, old: true, text: "whole" },
    ]);
    const gone = { drafts: draftsOf(of).slice(0, 1), typed: [] };
    keepTyped(of, at(9), "meanwhile");
    discard(of, gone);
    expect([draftsOf(of).map((d) => d.comment.text), typedOf(of).map((t) => t.text)]).toEqual([["whole"], ["meanwhile"]]);
    discard(of, { drafts: draftsOf(of), typed: typedOf(of) });
    expect([draftsOf(of), typedOf(of)]).toEqual([[], []]);
  });

  it("does not grow for ever", () => {
    for (let i = 0; i < 150; i++) {
      keepTyped({ kind: "task", id: `t${i}` }, at(1), "x");
    }
    expect(typedOf({ kind: "task", id: "t0" })).toEqual([]);
    expect(typedOf({ kind: "task", id: "t149" })).toHaveLength(1);
  });
});
