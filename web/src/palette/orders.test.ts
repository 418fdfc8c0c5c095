import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { callOf, knownFrom, missing, shape, told, wrong, type Argument, type Order } from "@/palette/orders";

const argument = (name: string, of: Argument["in"], type: Argument["type"], required = false, more: Partial<Argument> = {}): Argument => ({ name, in: of, type, required, about: "", values: [], fields: [], of: type === "array" ? "string" : "", ...more });
const order: Order = {
  id: "x",
  group: "agents",
  method: "POST",
  path: "/api/agents/{name}/assign",
  summary: "",
  ends: "",
  takes: [argument("name", "path", "string", true), argument("force", "query", "boolean"), argument("what", "body", "string", true), argument("scope", "body", "array"), argument("n", "body", "integer"), argument("on", "body", "object")],
};
const taking = (...takes: Argument[]): Order => ({ ...order, path: "/api/x", takes });

describe("an order", () => {
  it("becomes a request, with each argument where it belongs", () => {
    expect(callOf(order, { name: "a/../b?", force: "true", what: "do it", scope: "a\n\n b ", n: "3", on: '{"x":1}' })).toEqual({
      method: "POST",
      url: "/api/agents/a%2F..%2Fb%3F/assign?force=true",
      body: { what: "do it", scope: ["a", "b"], n: 3, on: { x: 1 } },
    });
  });

  it("leaves out what was not filled in", () => {
    expect(callOf(order, { name: "a" })).toEqual({ method: "POST", url: "/api/agents/a/assign", body: {} });
    expect(callOf({ ...order, takes: order.takes.slice(0, 1) }, { name: "a" }).body).toBeUndefined();
  });

  it("names what is missing, also a yes or no that must be said", () => {
    expect(missing(order, { name: " " })).toEqual(["name", "what"]);
    expect(missing(order, { name: "a", what: "b" })).toEqual([]);
    expect(missing(taking(argument("sure", "body", "boolean", true)), {})).toEqual(["sure"]);
  });

  it("says no where no was chosen, and nothing where nothing was", () => {
    const o = taking(argument("sure", "body", "boolean", true), argument("close", "body", "boolean"));
    expect(callOf(o, { sure: "false", close: "false" }).body).toEqual({ sure: false, close: false });
    expect(callOf(o, { sure: "true" }).body).toEqual({ sure: true });
  });

  it("stays at its route, whatever is typed as a name", () => {
    for (const name of [".", "..", " .. "]) {
      expect(() => callOf(order, { name })).toThrow("Nothing is called");
      expect(wrong(order.takes[0] ?? argument("", "path", "string"), { name })).toBeDefined();
    }
    fc.assert(
      fc.property(fc.string(), (name) => {
        fc.pre(name.trim() !== "" && name.trim() !== "." && name.trim() !== "..");
        const { pathname } = new URL(callOf(order, { name }).url, "http://x");
        expect(pathname.split("/")).toHaveLength(5);
        expect(pathname.endsWith("/assign")).toBe(true);
      }),
    );
  });

  it("takes lines for texts and numbers, and a list only where it is one", () => {
    const o = taking(argument("scope", "body", "array"), argument("ports", "body", "array", false, { of: "integer" }));
    expect(callOf(o, { scope: "[ab]*.go\nc", ports: "1\n2" }).body).toEqual({ scope: ["[ab]*.go", "c"], ports: [1, 2] });
    expect(callOf(o, { scope: '["a"]' }).body).toEqual({ scope: ["a"] });
  });

  it("tells what a list of objects holds, and that a text is none", () => {
    const on = argument("on", "body", "array", true, { of: "object", fields: ["line?", "path", "text"], about: "Where" });
    expect(shape(on)).toBe('[{"path": …, "text": …}]');
    expect(told(on)).toBe("Where. JSON: a list of objects with path, text, and perhaps line.");
    expect([wrong(on, { on: "a" }), wrong(on, { on: "{}" }), wrong(on, { on: '[{"path":"a"}]' })]).toEqual(["This must be a list as JSON.", "This must be a list as JSON.", undefined]);
    expect(callOf(taking(on), { on: '[{"path":"a"}]' }).body).toEqual({ on: [{ path: "a" }] });
  });

  it("knows where names come from", () => {
    expect(order.takes.map((a) => knownFrom(order, a))).toEqual(["agents", undefined, undefined, undefined, undefined, undefined]);
    expect(knownFrom({ ...order, path: "/api/runs/{id}/nodes/{node}/stop" }, argument("node", "path", "string"))).toBe("nodes");
    expect(knownFrom({ ...order, path: "/api/tasks/{id}/assign" }, argument("agent", "body", "string"))).toBe("agents");
  });
});
