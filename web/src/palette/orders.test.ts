import { describe, expect, it } from "vitest";

import { callOf, missing, type Order } from "@/palette/orders";

const argument = (name: string, of: Order["takes"][number]["in"], type: Order["takes"][number]["type"], required = false) => ({ name, in: of, type, required, about: "", values: [] });
const order: Order = {
  id: "x",
  group: "agents",
  method: "POST",
  path: "/api/agents/{name}/assign",
  summary: "",
  takes: [argument("name", "path", "string", true), argument("force", "query", "boolean"), argument("what", "body", "string", true), argument("scope", "body", "array"), argument("n", "body", "integer"), argument("on", "body", "object")],
};

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

  it("names what is missing", () => {
    expect(missing(order, { name: " " })).toEqual(["name", "what"]);
    expect(missing(order, { name: "a", what: "b" })).toEqual([]);
  });
});
