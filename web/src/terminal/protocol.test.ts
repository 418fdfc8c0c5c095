import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { fit, forGood, lose, mostMessage, parse, pasted, pause, refuse, reveal, stays, take, unknown } from "@/terminal/protocol";

describe("the terminal's messages", () => {
  it("are taken as the server means them", () => {
    let t = unknown;
    for (const m of ['{"type":"screen","cols":120,"rows":40}', '{"type":"state","live":true,"holder":"you","why":""}']) {
      const said = parse(m);
      t = said ? take(t, said) : t;
    }
    expect(t).toMatchObject({ phase: "open", cols: 120, rows: 40, live: true, log: false, holder: "you" });
    expect(lose(t)).toMatchObject({ phase: "lost", holder: "" });
    expect(lose(take(t, { type: "ended" }))).toMatchObject({ phase: "ended", holder: "" });
  });

  it("invent no holder, and accept no invalid size", () => {
    expect(parse('{"type":"state","live":true,"holder":"root"}')).toEqual({ type: "state", live: true, holder: "", why: "" });
    expect(parse('{"type":"screen","cols":-1,"rows":1e9}')).toEqual({ type: "screen", cols: 80, rows: 1000, log: false });
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (m) => {
        const said = parse(m);
        return said === undefined || ["screen", "state", "refused", "ended"].includes(said.type);
      }),
    );
  });

  it("are waited for ever longer, to a bound", () => {
    expect([0, 1, 4, 9, 99].map(pause)).toEqual([500, 1000, 8000, 15_000, 15_000]);
  });
});

describe("a paste", () => {
  it("is one message, and none that the server would not read", () => {
    expect(pasted('a"<b>')).toBe('{"type":"paste","text":"a\\"<b>"}');
    expect(pasted("é".repeat(mostMessage / 2))).toBeUndefined();
  });
});

describe("a connection that ended", () => {
  it("is opened again, unless that cannot succeed", () => {
    expect([1000, 1001, 1005, 1006, 1011, 1012, 1013].map((c) => forGood(c, ""))).toEqual(Array(7).fill(undefined));
    expect(forGood(1008, "too many messages")).toBe("The server ended the connection: too many messages.");
    expect(forGood(1009, "")).toContain("too long");
    expect([401, 403, 404].every(stays)).toBe(true);
    expect([0, 409, 426, 500, 502, 503].some(stays)).toBe(false);
    expect(refuse({ ...unknown, phase: "open", live: true, holder: "you" }, "it is gone", "cmux x")).toMatchObject({ phase: "refused", live: false, holder: "", refused: { detail: "it is gone", way: "cmux x" } });
  });
});

describe("fit", () => {
  const box = { width: 800, height: 2000, bar: 15, cols: 80, rows: 24, cellWidth: 0.6, cellHeight: 1.2 };
  it("has the screen fill the width, within what can be read", () => {
    expect(fit(box)).toBe(14);
    expect(fit({ ...box, width: 480 })).toBe(10);
    expect(fit({ ...box, width: 360 })).toBe(8);
    expect(fit({ ...box, width: 0 })).toBe(14);
  });
  it("has all rows in sight where they can be read, else fits the width", () => {
    const size = fit({ ...box, height: 300 });
    expect(size).toBeLessThan(14);
    expect(24 * Math.floor(Math.ceil(size * 1.2) * 1.1)).toBeLessThanOrEqual(300);
    expect(fit({ ...box, height: 100 })).toBe(14);
    expect(fit({ ...box, width: 480, height: 100 })).toBe(9.5); // beside the scrollbar
  });
});

describe("reveal", () => {
  it.each([
    ["a cursor in sight moves nothing", 0, 300, 100, 0],
    ["a cursor below comes into sight with what follows", 0, 300, 400, 190],
    ["at the end of the screen there is nothing more", 0, 300, 590, 300],
    ["a cursor above is the first row", 200, 300, 50, 50],
    ["a view that is too low for what follows has the cursor", 0, 50, 400, 400],
  ])("%s", (_, at, length, cell, want) => {
    expect(reveal(at, length, cell, 10, 80, 600)).toBe(want);
  });
});
