import type { Page } from "@playwright/test";

import { expect, test } from "../e2e/organization";
import { paths, setScene } from "../e2e/scene";

const orders = 20;
const patience = 20_000; // ms, for an order to come onto the page

declare global {
  interface Window {
    shifted: number; // of the layout, as Chromium counts it
    drawn: Record<string, number>; // when a text was drawn first
  }
}

const live = (p: Page) => expect(p.getByRole("status").filter({ hasText: "Live" })).toBeVisible();

test("from a person's order to the page", async ({ org, page }) => {
  org.start();
  await page.addInitScript(() => {
    window.drawn = {};
    const look = () => {
      for (const [title] of document.body.textContent.matchAll(/order-\d+;/g)) {
        requestAnimationFrame(() => (window.drawn[title] ??= performance.now()));
      }
    };
    document.addEventListener("DOMContentLoaded", () => new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true }));
  });
  await page.setViewportSize({ width: 1440, height: 100 * orders }); // a list draws what is seen of it
  await org.open(page, "/tasks");
  const took: number[] = [];
  for (let i = 0; i < orders; i++) {
    const title = `order-${i};`;
    const began = await page.evaluate(async (t) => {
      const at = performance.now();
      await fetch("/api/tasks", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ title: t }) });
      return at;
    }, title);
    await page.waitForFunction((t) => t in window.drawn, title, { polling: 50, timeout: patience });
    if (i > 0) { // the first makes the list
      took.push(((await page.evaluate((t) => window.drawn[t], title)) ?? Number.NaN) - began);
    }
  }
  took.sort((a, b) => a - b);
  const at = (share: number) => (took[Math.floor(took.length * share)] ?? Number.NaN).toFixed(0);
  console.log(`from an order to the page, ${took.length} times: median ${at(0.5)} ms, p90 ${at(0.9)} ms, most ${(took.at(-1) ?? Number.NaN).toFixed(0)} ms`);
});

test("layout shift of each page", async ({ org, page }) => {
  setScene(org);
  await page.addInitScript(() => {
    window.shifted = 0;
    new PerformanceObserver((list) => {
      for (const e of list.getEntries() as (PerformanceEntry & { value: number; hadRecentInput: boolean })[]) {
        window.shifted += e.hadRecentInput ? 0 : e.value;
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
  await org.open(page);
  const { id } = (JSON.parse(org.cmux("agents", "status", "--json")) as { run: { id: string } }).run;
  const all: [number, string][] = [];
  for (const [width, height] of [[1440, 900], [360, 740]] as const) {
    await page.setViewportSize({ width, height });
    for (const [name, path] of Object.entries(paths)) {
      await page.goto(new URL(path.replace("RUN", id), page.url()).href);
      await live(page);
      await page.waitForLoadState("networkidle").catch(() => undefined);
      await page.waitForTimeout(500);
      all.push([await page.evaluate(() => window.shifted), `${name} at ${width}`]);
    }
  }
  all.sort(([a], [b]) => b - a);
  const over = all.filter(([n]) => n > 0.05);
  console.log(`layout shift: ${over.length} of ${all.length} pages above 0.05: ${over.map(([n, name]) => `${name} ${n.toFixed(3)}`).join(", ")}; the most: ${all[0]?.[1] ?? ""} ${(all[0]?.[0] ?? Number.NaN).toFixed(3)}`);
  expect(over).toEqual([]);
});
