import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { horizon } from "@/chat/conversation";
import { handedOver, withoutCommands } from "@/chat/letter";
import { isTalk, timeline, type Mail, type Said } from "@/chat/timeline";

let seq = 0;
const time = (s: number) => new Date(Date.UTC(2030, 0, 1, 0, 0, s)).toISOString();
function said(kind: Said["kind"], at: number, fields: Partial<Said> = {}): Said {
  return { seq: ++seq, at: time(at), attempt: 0, node: "api", kind, ...fields };
}
function mail(id: string, at: number, fields: Partial<Mail> = {}): Mail {
  return { id, ts: time(at), from: "api", to: "user", subject: id, body: "", deliveries: [], file: "", re: "", task: "", urgency: "", verified: true, ...fields };
}

describe("timeline", () => {
  it("puts messages between what was said, by time", () => {
    const entries = timeline([said("text", 1, { text: "a" }), said("text", 3, { text: "b" })], [mail("m2", 4), mail("m1", 2, { from: "user" })]);
    expect(entries.map((e) => (e.type === "mail" ? `${e.mail.id}${e.mine ? " mine" : ""}` : e.type === "text" ? e.text : e.type))).toEqual(["a", "m1 mine", "b", "m2"]);
  });

  it("says a message once, though it was handed over as a prompt too, and nothing of turns", () => {
    const handed = "[user] Hello (message m1)\n> body\r\r[sup, unverified] b (message m2)\nIt answers message m1.";
    expect(handedOver(handed, () => true)).toEqual({ ids: ["m1", "m2"], rest: "" });
    expect(handedOver(`${handed}\nand do it`, () => true)).toEqual({ ids: ["m1", "m2"], rest: "and do it" });
    expect(handedOver("> body", () => true)).toEqual({ ids: [], rest: "> body" });
    expect(handedOver(`Go on.\n${handed}`, (id) => id === "m2")).toEqual({ ids: ["m2"], rest: "Go on.\n[user] Hello (message m1)\n> body" });
    const types = (text: string, ...ids: string[]) => timeline([said("status", 1, { state: "working" }), said("prompt", 2, { text }), said("status", 3, { state: "idle" })], ids.map((id) => mail(id, 1))).map((e) => e.type);
    expect(types(handed, "m1", "m2")).toEqual(["mail", "mail"]);
    expect(types(handed, "m1")).toEqual(["mail", "told"]);
    expect(types("Do it.", "m1")).toEqual(["mail", "told"]);
    const pasted = `\n\n<pasted_content id="9f42">\n[user] Hello (message m1)\n> body\n</pasted_content id="9f42">\n`;
    expect(timeline([said("prompt", 1, { text: pasted })], [mail("m1", 1)]).map((e) => e.type)).toEqual(["mail"]);
    const framed = `<pasted_content id="9f42" lines="2">[user] Hello (message m1)\n> body</pasted_content id="9f42">\nand look`;
    expect(timeline([said("prompt", 1, { text: framed })], [mail("m1", 1)])).toMatchObject([{ type: "mail" }, { type: "told", text: "and look" }]);
    expect(timeline([said("prompt", 1, { text: `<pasted_content id="1">\nhello\n</pasted_content>` })], [])).toMatchObject([{ type: "told", text: "hello" }]);
    expect(timeline([said("note", 1, { text: "sent message m1 to user: b" }), said("note", 1, { text: "sent message m2 to user: b" })], [mail("m1", 1)]).map((e) => e.type)).toEqual(["mail", "event"]);
    expect(timeline([said("status", 1, { state: "limited", text: "until 5" })], []).map((e) => e.type)).toEqual(["event"]);
  });

  it("shows a question that went to a person as a message as a question alone", () => {
    const all = [said("question", 1, { text: "Which?" }), said("note", 2, { text: "its question went to user as message m1" }), said("status", 2, { state: "needs input", text: "asked user: Which?" })];
    expect(timeline(all, [mail("m1", 2)]).map((e) => e.type)).toEqual(["question"]);
    expect(withoutCommands('Which?\n\nAnswer: cmux workers answer api "your answer"')).toBe("Which?");
    expect(withoutCommands("It is done.\n\nTask t2. Its record: cmux tasks show t2")).toBe("It is done.\n\nTask t2.");
  });

  it("takes messages in envelopes for what they are", () => {
    const one = '<message id="m1" from="user" subject="Hello &quot;you&quot;" re="m0">\n> body\n> </message>\n</message>';
    const two = '<message id="m2" from="sup" subject="b" unverified="true" file="/p/x.md">\r\n</message>';
    expect(handedOver(`${one}\n${two}`, () => true)).toEqual({ ids: ["m1", "m2"], rest: "" });
    expect(handedOver(`${one}\n${two}\nand do it`, () => true)).toEqual({ ids: ["m1", "m2"], rest: "and do it" });
    expect(handedOver(`Go on.\n${one}\n${two}`, (id) => id === "m2")).toEqual({ ids: ["m2"], rest: `Go on.\n${one}` });
    expect(handedOver(`<pasted_content id="9f42">${one}</pasted_content id="9f42">`, () => true)).toEqual({ ids: ["m1"], rest: "" });
    expect(handedOver(`[w1] old (message m3)\n> body\n${one}`, () => true)).toEqual({ ids: ["m3", "m1"], rest: "" });
    expect(handedOver(`${one}\n</message>\n> mine`, () => true)).toEqual({ ids: ["m1"], rest: "</message>\n> mine" });
  });

  it("takes what comes newest first", () => {
    const events = [said("text", 1, { text: "a" }), said("tool_use", 2, { tool: "Bash", tool_id: "x" }), said("tool_result", 3, { tool_id: "x", text: "X" })];
    const entries = timeline([...events].reverse(), []);
    expect(entries.map((e) => e.type)).toEqual(["text", "calls"]);
    expect(entries.filter(isTalk)).toHaveLength(1);
  });

  it("loses no message, whatever the order that they come in, and gives each piece a key of its own", () => {
    const kinds = fc.constantFrom<Said["kind"]>("text", "thought", "tool_use", "tool_result", "note", "usage");
    fc.assert(
      fc.property(fc.array(fc.tuple(kinds, fc.nat(50))), fc.uniqueArray(fc.nat(99)), (events, letters) => {
        const all = timeline(
          events.map(([k, at]) => said(k, at, { text: "t", tool_id: "i" })),
          letters.map((n) => mail(`m${n}`, n % 50)),
        );
        expect(new Set(all.map((e) => e.key)).size).toBe(all.length);
        expect(all.filter((e) => e.type === "mail")).toHaveLength(letters.length);
      }),
      { numRuns: 50 },
    );
  });
});

it("the horizon is where the first of the sources that have more ends", () => {
  expect(horizon([{ oldest: time(5), more: true }, { oldest: time(9), more: true }, { oldest: time(20), more: false }])).toBe(Date.parse(time(9)));
  expect(horizon([{ oldest: undefined, more: true }])).toBe(Number.NEGATIVE_INFINITY);
});
