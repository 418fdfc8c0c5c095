import { readFileSync } from "node:fs";

import { expect, it } from "vitest";

import { pages } from "./pages";

it("has each page of the sidebar in docs/dashboard.md, in order", () => {
  const told = [...readFileSync("../docs/dashboard.md", "utf8").matchAll(/^\| \*\*(.+?)\*\* \|/gm)].map((m) => m[1]);
  expect(told).toEqual(pages.flatMap((p) => (p.nav ? [p.nav.label] : [])));
});
