import { readFileSync } from "node:fs";

import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { matchPath } from "react-router";

import { pages } from "@/app/pages";
import { labelOf, named, nameOf } from "@/palette/commands";
import type { Argument, Order } from "@/palette/orders";
import { places } from "@/palette/places";
import { near, rank, score, type Findable } from "@/palette/rank";

const api = JSON.parse(readFileSync("openapi.json", "utf8")) as { paths: Record<string, Record<string, unknown>> };
const changing = Object.entries(api.paths)
  .flatMap(([path, methods]) => Object.keys(methods).map((m) => `${m.toUpperCase()} ${path}`))
  .filter((c) => /^(POST|PUT|PATCH|DELETE) /.test(c) && !c.includes("/api/webhooks/"));

const commands = Object.values(named).flatMap((n) => (n === null ? [] : [{ kind: "command" as const, label: n.label, words: n.words ?? "" }]));
const all: readonly Findable[] = [
  ...places,
  ...commands,
  { kind: "agent", label: "painter", words: "agent painter worker" },
  { kind: "run", label: "release", words: "run 20260301-120000.000-abc123 waiting" },
  ...Array.from({ length: 300 }, (_, i): Findable => ({ kind: "node", label: `shard-${i}`, words: "node working" })),
  { kind: "task", label: "Stop the flicker of the door", words: "task t1" },
];
const first = (typed: string) => rank(all, typed, 1)[0]?.label;
const top = (typed: string) => rank(all, typed, 5).map((t) => t.label);

describe("what people type", () => {
  it.each([
    ["stop", "Stop a run"],
    ["stop run", "Stop a run"],
    ["stop everything", "Stop the organization"],
    ["last hour", "Activity"],
    ["enter", "Enter key"],
    ["who works", "Agents"],
    ["kill run", "Stop a run"],
    ["delete worker", "Remove a worker"],
    ["delete agent", "Remove a worker"],
    ["kill agent", "Remove a worker"],
    ["new agent", "Spawn a worker"],
    ["add worker", "Spawn a worker"],
    ["start", "Start a run"],
    ["run graph", "Start a run"],
    ["start a run", "Start a run"],
    ["resume", "Resume a run"],
    ["retry", "Retry a node"],
    ["rerun node", "Retry a node"],
    ["approve", "Approve a gate"],
    ["open gate", "Approve a gate"],
    ["cancel task", "Cancel a task"],
    ["stop task", "Cancel a task"],
    ["new task", "Add a task"],
    ["add a task", "Add a task"],
    ["todo", "Tasks"],
    ["message", "Send a message"],
    ["tell agent", "Send a message to an agent"],
    ["logout", "Log out everywhere"],
    ["settings", "Settings"],
    ["dark mode", "Theme"],
    ["cost", "Budget"],
    ["tokens", "Budget"],
    ["inbox", "Needs you"],
    ["plans", "Teams"],
    ["cron", "Schedule"],
    ["agents' graph", "Graph"],
    ["yaml", "Graph"],
    ["log", "Log of events"],
    ["feed", "Activity"],
    ["run", "Runs"],
    ["agents", "Agents"],
    ["worker", "Spawn a worker"],
    ["workers", "Spawn a worker"],
    ["apply config", "Apply the settings file"],
    ["clean up", "Clean up"],
    ["rollback", "Recovery"],
    ["doctor", "Doctor"],
    ["painter", "painter"],
    ["release", "release"],
    ["shard-217", "shard-217"],
    ["t1", "Stop the flicker of the door"],
    ["flicker", "Stop the flicker of the door"],
    ["agnets", "Agents"],
    ["revew", "Review"],
    ["how do i stop a run", "Stop a run"],
  ])("%s finds %s first", (typed, label) => expect(first(typed), top(typed).join(" | ")).toBe(label));

  it.each(["Needs you", "Runs", "Review", "Chat", "Agents", "Tasks", "Activity", "Health", "Budget", "Explorer", "Projects", "Settings", "First steps", "Agents' graph", "Schedule", "Teams", "Locks", "Maintenance", "Alerts"])(
    "%s, which was or is a page, is found among the first",
    (name) => expect(rank(places, name, 3).length).toBeGreaterThan(0),
  );

  it("finds each page by its name first", () => {
    for (const p of pages) {
      if (p.label !== undefined) {
        expect(first(p.label), p.label).toBe(p.label);
      }
    }
  });

  it("finds nothing by words that nothing has", () => expect(rank(all, "zebra crossing", 5)).toEqual([]));
  it("needs each word", () => expect(score({ kind: "command", label: "Stop a run" }, "stop zebra")).toBe(0));
  it("takes any text", () => {
    fc.assert(fc.property(fc.string(), (typed) => Number.isFinite(score({ kind: "page", label: "Runs", words: "dag" }, typed))));
  });
});

it.each([
  ["agnet", "agent", true],
  ["agen", "agent", true],
  ["agentt", "agent", true],
  ["agnat", "agent", false],
  ["stop", "step", true],
  ["stop", "shop", true],
  ["runs", "tasks", false],
])("%s is near %s: %s", (a, b, is) => expect([near(a, b), near(b, a)]).toEqual([is, is]));

describe("commands", () => {
  it("have a name that people use, each route that changes something", () => expect(changing.filter((c) => !(c in named))).toEqual([]));
  it("are all routes that exist", () => expect(Object.keys(named).filter((c) => !changing.includes(c))).toEqual([]));
  it("have different labels, of few words and no code", () => {
    const labels = commands.map((c) => c.label);
    expect(new Set(labels).size).toBe(labels.length);
    expect(labels.filter((l) => /[/_{}:;.]/.test(l) || l.split(" ").length > 8)).toEqual([]);
  });
  it("lead to pages that there are", () => {
    const to = [...places.map((p) => p.to), ...Object.values(named).flatMap((n) => (n?.to === undefined ? [] : [n.to]))];
    expect(to.filter((t) => !pages.some((p) => matchPath(`/${p.path}`, t.split("?")[0] ?? "") !== null))).toEqual([]);
  });
  it("without a name are called by their summary", () => expect(nameOf({ method: "POST", path: "/api/new", summary: "Do something new" } as Order)?.label).toBe("Do something new"));
});

it.each([
  ["/api/agents", "display_name", "body", "Display name"],
  ["/api/agents/{name}/assign", "name", "path", "Agent"],
  ["/api/runs/{id}/nodes/{node}/stop", "id", "path", "Run"],
  ["/api/runs/{id}/nodes/{node}/stop", "node", "path", "Node"],
  ["/api/tasks/{id}/cancel", "id", "path", "Task"],
  ["/api/projects", "dir", "body", "Folder"],
] as const)("%s calls %s in the %s %s", (path, name, place, label) => expect(labelOf({ path } as Order, { name, in: place } as Argument)).toBe(label));
