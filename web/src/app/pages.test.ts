import { readFileSync } from "node:fs";

import { expect, it } from "vitest";

import { doors, pageAt, pages, within } from "./pages";

const docs = readFileSync("../docs/dashboard.md", "utf8");

it("has each entry of the sidebar in docs/dashboard.md, in order, with the pages in it", () => {
  const told = [...docs.matchAll(/^\| \*\*(.+?)\*\* \|(.*)$/gm)].map(([, door, text]) => ({ door, text: text ?? "" }));
  expect(told.map((t) => t.door)).toEqual(doors.map((d) => d.label));
  for (const [i, d] of doors.entries()) {
    for (const { label } of within(d).slice(1)) {
      expect(told[i]?.text, d.label).toContain(`*${label}*`);
    }
  }
});

it("has at most nine entries, and each page is in one that begins with a page", () => {
  expect(doors.length).toBeLessThanOrEqual(9);
  for (const d of doors) {
    expect(pages.find((p) => p.door === d && p.label !== undefined)?.path).toBe(d.path);
  }
});

it.each([
  ["/", "Needs you"],
  ["/activity", "Needs you"],
  ["/config/agents", "Runs"],
  ["/runs/r1", "Runs"],
  ["/runs/r1/nodes/api", "Runs"],
  ["/runs/r1/review", "Review"],
  ["/chat/api", "Agents"],
  ["/rooms/auth", "Rooms"],
  ["/personas", "Rooms"],
  ["/tasks/merge", "Tasks"],
  ["/plans", "Tasks"],
  ["/budget", "Health"],
  ["/projects", "Settings"],
  ["/first-steps", "Settings"],
])("%s is in %s", (path, door) => expect(pageAt(path)?.door.label).toBe(door));

it("leads nowhere from an unknown path", () => expect(pageAt("/no/such/page")).toBeUndefined());
