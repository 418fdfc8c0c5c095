import { describe, expect, it } from "vitest";

import { addDraft, draftsOf, forgetDrafts, rehydrate } from "@/changes/drafts";

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
  });
});
