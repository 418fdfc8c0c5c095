import { appendFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "../e2e/organisation";

const clients = 10;
const events = 50; // the page shows as many of a kind

declare global {
  interface Window {
    seen: Record<string, number>; // when a text was drawn first, by its subject
  }
}

test("from a line in a file to the page, ten browsers", async ({ org, page, browser }) => {
  org.start();
  await org.open(page);
  const home = new URL("/", page.url()).href;
  const cookies = await page.context().cookies();
  const pages = await Promise.all(
    Array.from({ length: clients }, async () => {
      const context = await browser.newContext();
      await context.addCookies(cookies);
      const p = await context.newPage();
      await p.addInitScript(() => {
        window.seen = {};
        const look = () => {
          for (const [subject] of document.body.innerText.matchAll(/event-\d+/g)) {
            window.seen[subject] ??= Date.now();
          }
        };
        document.addEventListener("DOMContentLoaded", () => new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true }));
      });
      await p.goto(home);
      await expect(p.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
      return p;
    }),
  );
  const written: Record<string, number> = {};
  for (let i = 0; i < events; i++) {
    const subject = `event-${i}`;
    const line = { id: `bench${i}`, ts: new Date().toISOString(), from: "supervisor", to: "user", subject, body: "text", status: "submitted" };
    appendFileSync(join(org.root, ".cmux/mailbox"), `${JSON.stringify(line)}\n`);
    written[subject] = Date.now();
    await expect((pages[0] ?? page).getByText(subject, { exact: true })).toBeVisible();
    await new Promise((done) => setTimeout(done, 100));
  }
  const took: number[] = [];
  for (const p of pages) {
    await expect(p.getByText(`event-${events - 1}`, { exact: true })).toBeVisible();
    const seen = await p.evaluate(() => window.seen);
    for (const [subject, at] of Object.entries(written)) {
      took.push((seen[subject] ?? Number.NaN) - at);
    }
  }
  took.sort((a, b) => a - b);
  const at = (share: number) => took[Math.floor(took.length * share)] ?? Number.NaN;
  console.log(`from a line to the page, ${clients} browsers, ${events} events: median ${at(0.5)} ms, p99 ${at(0.99)} ms`);
});

test("a page at rest", async ({ org, page }) => {
  org.start();
  await org.open(page);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable");
  const busy = async () => (await cdp.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration")?.value ?? Number.NaN;
  await page.waitForTimeout(5000);
  const before = await busy();
  await page.waitForTimeout(20_000);
  console.log(`a page at rest: ${(((await busy()) - before) / 20 * 100).toFixed(2)} % of a core`);
});
