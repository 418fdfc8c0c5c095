import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

import { byEvent, touched, touches } from "@/live/touches";

describe("touches", () => {
  it("is the table of docs/api.md", () => {
    const page = readFileSync("../docs/api.md", "utf8");
    const table = page.slice(page.indexOf("| event | routes |")).split("\n\n")[0] ?? "";
    const rows: Record<string, string[]> = {};
    for (const line of table.split("\n").slice(2)) {
      const [events = "", routes = ""] = line.split("|").slice(1);
      for (const [, event = ""] of events.matchAll(/`([^`]+)`/g)) {
        rows[event] = [...routes.matchAll(/`([^`]+)`/g)].map(([, route = ""]) => route);
      }
    }
    expect(rows).toEqual(byEvent);
  });

  it("takes the routes that a frame names", () => {
    expect(touches({ event: "changed", at: "", data: { routes: ["/api/locks", 7] } })).toEqual(["/api/locks"]);
    expect(touches({ event: "changed", at: "", data: null })).toEqual(["/api/"]);
  });

  it("fills in what an event is about", () => {
    const of = (event: string, source: string) => touches({ event, source, at: "", data: null });
    expect(of("run_event", "run:r1/api")).toContain("/api/runs/r1/nodes/api");
    expect(of("agent_event", "agent:api")).toContain("/api/agents/api");
    expect(of("agent_event", "")).toContain("/api/agents/{name}");
  });

  it("knows what a room shows", () => {
    const asks = (frame: { event: string; source?: string }, path: string, room = "design") => touched(["get", path, { params: { path: { room } } }], touches({ at: "", data: null, ...frame }));
    const said = { event: "room_message", source: "room:design" };
    expect(["/api/rooms/{room}", "/api/rooms/{room}/messages", "/api/rooms/{room}/log"].map((path) => [asks(said, path), asks(said, path, "auth")])).toEqual([[true, false], [true, false], [true, false]]);
    expect([asks(said, "/api/rooms"), asks(said, "/api/rooms/{room}/turns/{turn}/prompt")]).toEqual([true, false]); // a prompt stays as it is
    const works = { event: "agent_event", source: "agent:design.ann" };
    expect([asks(works, "/api/rooms/{room}"), asks(works, "/api/rooms/{room}", "auth"), asks(works, "/api/rooms/{room}/messages")]).toEqual([true, false, false]);
    expect(asks({ event: "agent_event", source: "agent:api" }, "/api/rooms/{room}")).toBe(false);
    expect(asks({ event: "heartbeat_update" }, "/api/rooms/{room}")).toBe(true);
  });

  it("asks again for the message that an event names, and for no other", () => {
    const routes = touches({ event: "message_update", source: "mailbox", name: "m1", at: "", data: null });
    const one = (id: string) => touched(["get", "/api/messages/{id}", { params: { path: { id } } }], routes);
    expect([one("m1"), one("m"), one("m2")]).toEqual([true, true, false]); // m is a beginning of m1
    expect(["/api/messages", "/api/messages/inbox", "/api/needs"].map((path) => touched(["get", path, {}], routes))).toEqual([true, true, true]);
    expect(touches({ event: "new_message", source: "mailbox", at: "", data: null })).toContain("/api/messages/{id}");
  });
});

describe("touched", () => {
  const run = { params: { path: { id: "20260102-030405.678-abcdef" } } };
  const node = { params: { path: { id: "20260102-030405.678-abcdef", node: "api" } } };
  it.each([
    ["/api/runs", {}, "/api/runs", true],
    ["/api/runs/{id}/merge", run, "/api/runs", true],
    ["/api/runs/{id}/merge", {}, "/api/runs/r1/merge", true],
    ["/api/runs/{id}/merge", {}, "/api/runs/r1/nodes", false],
    ["/api/runs/{id}", run, "/api/runs/r1/merge", false],
    ["/api/agents/{name}/conversation", {}, "/api/agents/{name}/conversation", true],
    ["/api/runsome", {}, "/api/runs", false],
    ["/api/anything", {}, "/api/", true],
    // A run that something happened in touches no other run, and not the list's own words.
    ["/api/runs/{id}/graph", run, "/api/runs/20260102-030405.678-abcdef", true],
    ["/api/runs/{id}/graph", run, "/api/runs/20260102-030405.678-fedcba", false],
    ["/api/runs/{id}/graph", { params: { path: { id: "abcdef" } } }, "/api/runs/20260102-030405.678-abcdef", true],
    ["/api/runs/{id}/graph", run, "/api/runs/20260102-030405.678-abcdef/nodes/api", false],
    ["/api/runs/{id}/nodes/{node}/files", node, "/api/runs/20260102-030405.678-abcdef/nodes/api", true],
    ["/api/runs/{id}/nodes/{node}/files", node, "/api/runs/20260102-030405.678-abcdef/nodes/web", false],
    ["/api/runs/compare", {}, "/api/runs/20260102-030405.678-abcdef", false],
    // With $ a route alone.
    ["/api/runs", { params: { query: { limit: 1000 } } }, "/api/runs$", true],
    ["/api/runs/{id}/graph", run, "/api/runs$", false],
    ["/api/agents/{name}", {}, "/api/agents$", false],
  ])("%s %j by %s: %s", (path, init, beginning, want) => {
    expect(touched(["get", path, init], [beginning])).toBe(want);
  });

  it("asks nothing that is no look", () => {
    expect(touched(["post", "/api/graph/check", {}], ["/api/"])).toBe(false);
    expect(touched(["places", "key"], ["/api/"])).toBe(false);
  });
});
