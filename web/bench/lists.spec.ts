import type { Page } from "@playwright/test";

import { expect, test } from "../e2e/organization";
import { frames, said } from "./frames";

const length = 100_000;

/** Scrolls a list a screen every few frames, for some seconds, by its own wheel. */
async function scroll(page: Page, list: string): Promise<void> {
  await page.getByRole("list", { name: list }).hover();
  const end = Date.now() + 4000;
  while (Date.now() < end) {
    await page.mouse.wheel(0, 400);
    await page.waitForTimeout(8);
  }
}

test("100,000 events", async ({ org, page }) => {
  org.start();
  await org.open(page);
  const kinds = ["tool_use", "tool_result", "text", "thought"];
  const items = Array.from({ length }, (_, i) => ({
    seq: length - i,
    at: new Date(1_767_225_600_000 - i * 1000).toISOString(),
    source: `agent:a${i % 7}`,
    kind: kinds[i % kinds.length],
    body: { kind: kinds[i % kinds.length], tool: "Bash", input: { command: `go test ./package${i % 50}` }, text: `What it says of event ${i}, at some length, as agents do.` },
  }));
  const body = JSON.stringify({ items, head: { seq: length, epoch: "a" } });
  await page.route("**/api/agent-events?*", (route) => route.fulfill({ contentType: "application/json", body }));
  await page.goto(new URL("/activity", page.url()).href);
  await expect(page.getByText(/^10\d,?\d{3} events loaded/)).toBeVisible({ timeout: 60_000 });
  console.log(`100,000 events scrolled: ${said(await frames(page, () => scroll(page, "What happened, newest first")))}`);
});

test("100,000 lines of a log", async ({ org, page }) => {
  org.write({ ".cmux-agents.yml": 'session: shop\nmain_pane: false\ndefaults: {agent: command}\nagents:\n  - {name: one, task: "true"}\n' });
  org.start();
  org.cmux("agents", "start", "--yes", "--detach");
  const { id } = (JSON.parse(org.cmux("agents", "status", "--json")) as { run: { id: string } }).run;
  await org.open(page);
  const text = Array.from({ length }, (_, i) => `line ${i} of what a program prints, which has about eighty characters in it\n`).join("");
  const body = JSON.stringify({ text, from: 0, next: text.length, size: text.length });
  await page.route("**/log/part?*", (route) =>
    route.fulfill({ contentType: "application/json", body: route.request().url().includes("from=-1") ? body : JSON.stringify({ text: "", from: text.length, next: text.length, size: text.length }) }),
  );
  await page.goto(new URL(`/runs/${id}/nodes/one?tab=log`, page.url()).href);
  await expect(page.getByText(/^100,?000 lines/)).toBeVisible({ timeout: 60_000 });
  await page.getByRole("list", { name: "Log" }).evaluate((e) => e.scrollTo(0, 0));
  console.log(`100,000 lines of a log scrolled: ${said(await frames(page, () => scroll(page, "Log")))}`);
});
