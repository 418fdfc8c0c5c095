import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { demo, mostTasks, reviewed, sketch, templates, type Sketch } from "@/onboarding/tasks";

const lines = (nodes: readonly Sketch[]) => nodes.map((n) => `${n.name}${n.after.length > 0 ? ` < ${n.after.join(" ")}` : ""}: ${n.task ?? ""}`);

describe("a text becomes tasks", () => {
  it.each([
    ["Fix the login", ["fix-login: Fix the login"]],
    ["fix the login, add a search box and write the docs", ["fix-login: Fix the login", "add-search-box: Add a search box", "write-docs: Write the docs"]],
    ["Fix the login, then write the docs.", ["fix-login: Fix the login", "write-docs < fix-login: Write the docs"]],
    ["Add an API and a page for it. Then test both", ["add-api-page: Add an API and a page for it", "test-both < add-api-page: Test both"]],
    ["- Fix the login\n- Write the docs\n- then ship it", ["fix-login: Fix the login", "write-docs: Write the docs", "ship-it < fix-login write-docs: Ship it"]],
    ["1. Build it; test it\n2) Build it", ["build-it: Build it", "test-it: Test it", "build-it-2: Build it"]],
    ["Update the tests with care, and docs", ["update-tests-care: Update the tests with care, and docs"]],
    ["price: write the total; page: show it", ["price: Write the total", "page: Show it"]],
    ["登録を直す", ["task: 登録を直す"]],
    [" \n - \n;;", []],
    ["", []],
  ])("%j", (text, wanted) => expect(lines(sketch(text))).toEqual(wanted));

  it("whatever it is: few, each with a name of its own, after nodes that there are", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.array(fc.constantFrom("then ", "and fix ", "\n- ", "; ", "a b. C ")), (text, more) => {
        const nodes = sketch(`${text}${more.join("x")}`);
        const names = nodes.map((n) => n.name);
        expect(nodes.length).toBeLessThanOrEqual(mostTasks);
        expect(new Set(names).size).toBe(names.length);
        nodes.forEach((n, i) => {
          expect(n.name).toMatch(/^[a-z0-9][a-z0-9-]*$/);
          expect(n.after.every((a) => names.indexOf(a) < i)).toBe(true);
        });
      }),
    );
  });
});

it("a review comes behind what nothing follows", () => {
  expect(reviewed(sketch("Build a, then test it; fix it")).at(-1)).toMatchObject({ name: "review", role: "review", after: ["test-it", "fix-it"] });
  expect(reviewed([])).toEqual([]);
  expect(reviewed([{ name: "review", after: [] }]).at(-1)?.name).toBe("review-2");
});

it("each template and the demo is a graph in order", () => {
  for (const nodes of [demo, ...templates.map((t) => t.nodes("Do it"))]) {
    nodes.forEach((n, i) => expect(n.after.every((a) => nodes.findIndex((o) => o.name === a) < i && nodes.some((o) => o.name === a))).toBe(true));
  }
  expect(templates.every((t) => t.nodes("Do it").some((n) => n.task?.includes("Do it") === true))).toBe(true);
});
