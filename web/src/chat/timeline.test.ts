import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { inputLine, timeline, type Mail, type Said } from "@/chat/timeline";

let seq = 0;
const time = (s: number) => new Date(Date.UTC(2030, 0, 1, 0, 0, s)).toISOString();
function said(kind: Said["kind"], at: number, fields: Partial<Said> = {}): Said {
  return { seq: ++seq, at: time(at), attempt: 1, node: "api", kind, ...fields };
}
function mail(id: string, at: number, fields: Partial<Mail> = {}): Mail {
  return { id, ts: time(at), from: "api", to: "user", subject: id, body: "", deliveries: [], file: "", re: "", task: "", urgency: "", verified: true, ...fields };
}

describe("timeline", () => {
  it("puts messages between what was said, by time", () => {
    const entries = timeline([said("text", 1, { text: "a" }), said("text", 3, { text: "b" })], [mail("m2", 4), mail("m1", 2, { from: "user" })]);
    expect(entries.map((e) => (e.kind === "mail" ? `${e.mail.id}${e.mine ? " mine" : ""}` : e.kind === "text" ? e.text : e.kind))).toEqual(["a", "m1 mine", "b", "m2"]);
  });

  it("joins a call with its result, also when others came in between", () => {
    const entries = timeline(
      [
        said("tool_use", 1, { tool: "Bash", tool_id: "x", input: { command: "ls" } }),
        said("tool_use", 2, { tool: "Read", tool_id: "y", input: { file_path: "a" } }),
        said("text", 3, { text: "hm" }),
        said("tool_result", 4, { tool_id: "y", text: "A", failed: true }),
        said("tool_result", 5, { tool_id: "x", text: "X" }),
        said("tool_result", 6, { tool_id: "z", text: "of nobody" }),
      ],
      [],
    );
    expect(entries.map((e) => e.kind)).toEqual(["calls", "text", "note"]);
    const group = entries[0];
    expect(group?.kind === "calls" && group.calls.map((c) => [c.tool, c.result, c.failed])).toEqual([
      ["Bash", "X", false],
      ["Read", "A", true],
    ]);
  });

  it("makes one piece of thoughts that follow each other, and leaves figures out", () => {
    const entries = timeline([said("thought", 1, { text: "1" }), said("usage", 1), said("thought", 2, { text: "2" }), said("tool_use", 3, { tool: "Bash" }), said("thought", 4, { text: "3" })], []);
    expect(entries.map((e) => (e.kind === "thoughts" ? e.texts.join(",") : e.kind))).toEqual(["1,2", "calls", "3"]);
  });

  it("says of a check what it was and how it ended", () => {
    const [entry] = timeline([said("check", 1, { command: "go test", exit: 1 })], []);
    expect(entry).toMatchObject({ kind: "note", word: "Check", text: "go test: exit 1" });
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
        expect(all.filter((e) => e.kind === "mail")).toHaveLength(letters.length);
      }),
      { numRuns: 50 },
    );
  });
});

it("a call is told in a line", () => {
  expect(inputLine({ command: "ls -l", description: "lists" })).toBe("ls -l");
  expect(inputLine({ odd: 1 })).toBe('{"odd":1}');
  expect(inputLine({})).toBe("");
  expect(inputLine(undefined)).toBe("");
});
