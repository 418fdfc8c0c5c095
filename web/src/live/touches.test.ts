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
});

describe("touched", () => {
  it.each([
    ["/api/runs", "/api/runs", true],
    ["/api/runs/{id}/merge", "/api/runs", true],
    ["/api/runs/{id}/merge", "/api/runs/r1/merge", true],
    ["/api/runs/{id}/merge", "/api/runs/r1/nodes", false],
    ["/api/runs/{id}", "/api/runs/r1/merge", false],
    ["/api/agents/{name}/conversation", "/api/agents/{name}/conversation", true],
    ["/api/runsome", "/api/runs", false],
    ["/api/anything", "/api/", true],
  ])("%s by %s: %s", (path, beginning, want) => {
    expect(touched(path, new Set([beginning]))).toBe(want);
  });
});
