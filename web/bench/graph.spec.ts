import type { Page } from "@playwright/test";

import { expect, test } from "../e2e/organization";
import { frames, said } from "./frames";

const columns = 25;
const rows = 40;
const name = (i: number) => `n${String(i).padStart(4, "0")}`;

/** A run of 1,000 gates: as large as a graph is meant to be, and nothing in it takes the processor. */
function config(): string {
  const nodes = Array.from({ length: columns * rows }, (_, i) => {
    const before = i < rows ? [] : [name(i - rows), name(i - rows - (i % rows) + ((i * 7 + 3) % rows))];
    return `  - {name: ${name(i)}, role: gate, depends_on: [${[...new Set(before)].join(", ")}]}`;
  });
  return `session: large\nmain_pane: false\nagents:\n${nodes.join("\n")}\n`;
}

/** Drags the graph to and fro for some seconds. */
async function pan(page: Page): Promise<void> {
  const { x, y, width, height } = (await page.getByRole("group", { name: "Graph of the run" }).boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  const [left, top] = [x + 12, y + height - 12]; // no node is there
  await page.mouse.move(left, top);
  await page.mouse.down();
  const end = Date.now() + 4000;
  for (let i = 0; Date.now() < end; i++) {
    const part = (1 - Math.cos(i / 20)) / 2;
    await page.mouse.move(left + part * width * 0.8, top - part * height * 0.6);
  }
  await page.mouse.up();
}

declare global {
  interface Window {
    drawn: Record<string, number>; // when a node was first drawn as done, by its name
    answered: number[]; // when the graph's answers were there
  }
}

test("a graph of 1,000 nodes", async ({ org, page }) => {
  org.write({ ".cmux-agents.yml": config() });
  org.start();
  await page.addInitScript(() => {
    window.drawn = {};
    window.answered = [];
    new PerformanceObserver((list) => {
      for (const e of list.getEntries()) {
        if (e.name.endsWith("/graph")) {
          window.answered.push((e as PerformanceResourceTiming).responseEnd);
        }
      }
    }).observe({ type: "resource" });
    const look = () => {
      for (const b of document.querySelectorAll(".react-flow__node button")) {
        const [, node] = /^(n\d{4}).*done/.exec(b.getAttribute("aria-label") ?? b.textContent) ?? [];
        if (node !== undefined && window.drawn[node] === undefined) {
          window.drawn[node] = Number.POSITIVE_INFINITY;
          requestAnimationFrame(() => setTimeout(() => (window.drawn[node] = performance.now())));
        }
      }
    };
    document.addEventListener("DOMContentLoaded", () => new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true, attributeFilter: ["aria-label"] }));
  });
  org.cmux("agents", "start", "--yes", "--detach");
  const { id } = (JSON.parse(org.cmux("agents", "status", "--json")) as { run: { id: string } }).run;
  const began = Date.now();
  await org.open(page, `/runs/${id}`);
  const first = page.getByRole("button", { name: new RegExp(`^${name(0)} `) });
  await first.waitFor({ state: "attached" });
  const there = Date.now() - began;
  await expect(page.getByText("The graph is being laid out")).toHaveCount(0, { timeout: 120_000 });
  console.log(`a graph of 1,000 nodes: there after ${there} ms, laid out after ${Date.now() - began} ms`);
  await page.waitForTimeout(1000);

  console.log(`panned, all of it in view: ${said(await frames(page, () => pan(page)))}`);
  await page.getByRole("button", { name: "What works" }).click();
  for (let i = 0; i < 4; i++) {
    await page.getByRole("button", { name: "Zoom in" }).click();
  }
  await page.waitForTimeout(500);
  console.log(`panned, a part in view: ${said(await frames(page, () => pan(page)))}`);
  await page.getByRole("button", { name: "The whole graph" }).click();
  await first.waitFor({ state: "attached" });

  const redrawn: number[] = [];
  const ordered: number[] = [];
  for (let i = 0; i < 10; i++) {
    const node = name(i);
    const before = await page.evaluate(() => performance.now());
    org.cmux("agents", "approve", node);
    await page.waitForFunction((n) => Number.isFinite(window.drawn[n]), node);
    const [at, answer] = await page.evaluate((n) => {
      const drawn = window.drawn[n] ?? Number.NaN;
      return [drawn, window.answered.filter((a) => a <= drawn).at(-1) ?? Number.NaN] as const;
    }, node);
    redrawn.push(at - answer);
    ordered.push(at - before);
    await page.waitForTimeout(300);
  }
  const at = (all: number[], share: number) => ([...all].sort((a, b) => a - b)[Math.floor((all.length - 1) * share)] ?? Number.NaN).toFixed(0);
  console.log(`a change, from its answer to the frame: median ${at(redrawn, 0.5)} ms, most ${at(redrawn, 1)} ms; from the order on: median ${at(ordered, 0.5)} ms`);
});
