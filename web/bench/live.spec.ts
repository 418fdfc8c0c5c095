import { appendFileSync } from "node:fs";
import { join } from "node:path";

import type { Browser, Page } from "@playwright/test";

import { expect, test } from "../e2e/organization";

const clients = 10;
const events = 50; // the list draws as many at once
const patience = 20_000; // ms, for an event to come onto a page

declare global {
  interface Window {
    seen: Record<string, number>; // when a text was drawn first, by its subject
  }
}

const live = (p: Page) => expect(p.getByRole("status").filter({ hasText: "Live" })).toBeVisible();

/** A page that writes down when each text came onto it. */
async function watching(browser: Browser, of: Page): Promise<Page> {
  const context = await browser.newContext();
  await context.addCookies(await of.context().cookies());
  const p = await context.newPage();
  await p.addInitScript(() => {
    window.seen = {};
    // Only what is new is looked at, and counts with the frame that shows it. A subject ends in a semicolon: digits may stand beside it.
    const look = (changes: MutationRecord[]) => {
      for (const node of changes.flatMap((c) => (c.type === "characterData" ? [c.target] : [...c.addedNodes]))) {
        for (const [subject] of (node.textContent ?? "").matchAll(/event-\d+;/g)) {
          requestAnimationFrame(() => (window.seen[subject] ??= Date.now()));
        }
      }
    };
    document.addEventListener("DOMContentLoaded", () => new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true }));
  });
  await p.goto(new URL("/", of.url()).href);
  await live(p);
  return p;
}

/** Clients as pages elsewhere are: each hears all that happens, asks what a page asks, and draws nothing here. */
async function elsewhere(of: Page, n: number): Promise<void> {
  const p = await of.context().newPage();
  await p.route("**/*.js", (r) => r.abort()); // the page's right to ask, without its program
  await p.goto(new URL("/", of.url()).href);
  await p.evaluate(
    ([many, paths]) =>
      Promise.all(
        Array.from({ length: many }, () => {
          const socket = new WebSocket(new URL("/api/ws", window.location.href.replace("http", "ws")));
          let busy = false;
          let again = false;
          const ask = async () => {
            again = busy;
            if (!busy) {
              busy = true;
              await Promise.all(paths.map(async (path) => (await fetch(path)).text()));
              busy = false;
              if (again) {
                void ask();
              }
            }
          };
          return new Promise<void>((resolve) => {
            socket.onmessage = ({ data }) => {
              const m = JSON.parse(String(data)) as { type: string; epoch: string; seq: number };
              if (m.type === "hello") {
                socket.send(JSON.stringify({ type: "from", epoch: m.epoch, seq: m.seq }));
              } else if (m.type === "live") {
                resolve();
              } else if (m.type === "events") {
                void ask();
              }
            };
          });
        }),
      ),
    [n, ["/api/needs?limit=1000", "/api/agents", "/api/heartbeat"]] as const,
  );
}

/**
 * Has events come, one after the other, and says how long after its line each was on the pages, in milliseconds. The
 * first makes the page what it is and does not count.
 */
async function measure(root: string, pages: Page[]): Promise<number[]> {
  const written: Record<string, number> = {};
  for (let i = 0; i < events; i++) {
    const subject = `event-${i};`;
    const line = { id: `bench${i}`, ts: new Date().toISOString(), from: "supervisor", to: "user", subject, body: "text", status: "submitted" };
    appendFileSync(join(root, ".cmux/mailbox"), `${JSON.stringify(line)}\n`);
    if (i > 0) {
      written[subject] = Date.now();
    }
    for (const p of pages) {
      await p.waitForFunction((s) => s in window.seen, subject, { polling: 50, timeout: patience });
    }
    await new Promise((done) => setTimeout(done, 200));
  }
  const took: number[] = [];
  for (const p of pages) {
    const seen = await p.evaluate(() => window.seen);
    for (const [subject, at] of Object.entries(written)) {
      took.push((seen[subject] ?? Number.NaN) - at);
    }
  }
  return took;
}

function report(what: string, took: number[]): void {
  took.sort((a, b) => a - b);
  const at = (share: number) => took[Math.floor(took.length * share)] ?? Number.NaN;
  console.log(`from a line to the page, ${what}, ${took.length} times: median ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms, most ${took.at(-1)} ms`);
}

test.describe("ten clients", () => {
  const took: number[] = [];
  for (let round = 1; round <= 6; round++) {
    test(`from a line in a file to the page, round ${round}`, async ({ org, page, browser }) => {
      org.start();
      await org.open(page);
      const p = await watching(browser, page);
      await elsewhere(page, clients - 1);
      await page.goto("about:blank");
      took.push(...(await measure(org.root, [p])));
    });
  }
  test.afterAll(() => report(`${clients - 1} clients beside it`, took));
});

test("from a line in a file to the page, alone", async ({ org, page, browser }) => {
  org.start();
  await org.open(page);
  const p = await watching(browser, page);
  await page.goto("about:blank");
  report("no client beside it", await measure(org.root, [p]));
});

test("from a line in a file to the page, ten pages drawn on this machine", async ({ org, page, browser }) => {
  org.start();
  await org.open(page);
  const pages = [];
  for (let i = 0; i < clients; i++) {
    pages.push(await watching(browser, page));
  }
  await page.goto("about:blank");
  report(`${clients} pages drawn here`, await measure(org.root, pages));
});

/** The time that a page's main thread has worked, in seconds: of the processor, whatever else the machine does. */
async function worked(page: Page): Promise<() => Promise<number>> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => (await cdp.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration")?.value ?? Number.NaN;
}

test("the processor's time for an event", async ({ org, page, browser }) => {
  org.start();
  await org.open(page);
  const p = await watching(browser, page);
  await page.goto("about:blank");
  const busy = await worked(p);
  const before = await busy();
  const took = await measure(org.root, [p]);
  console.log(`an event takes the page ${(((await busy()) - before) / (took.length + 1) * 1000).toFixed(1)} ms of a core`);
});

test("a page at rest", async ({ org, page }) => {
  org.start();
  await org.open(page);
  const busy = await worked(page);
  await page.waitForTimeout(5000);
  const before = await busy();
  await page.waitForTimeout(20_000);
  console.log(`a page at rest: ${(((await busy()) - before) / 20 * 100).toFixed(2)} % of a core`);
});
