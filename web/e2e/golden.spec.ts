import { join } from "node:path";

import { expect, test, type Page } from "./organization";
import { paths, setScene } from "./scene";

/*
 * How each page looks, kept in golden/. After a change that is meant:
 * npx playwright test --config golden.config.ts --update-snapshots=changed, and look at what changed.
 * Another Chromium may draw letters and lines otherwise: beside the other tests it is
 * compared only with the one that drew what is kept, by make web-golden with any.
 */
const drawnBy = "156.";
const looks = [
  { width: 1440, height: 900, scheme: "light" },
  { width: 1440, height: 900, scheme: "dark" },
  { width: 360, height: 740, scheme: "light" },
  { width: 360, height: 740, scheme: "dark" },
] as const;

test.use({ bypassCSP: true }); // the letters of golden.css

/** Text that each run of this test has another of, and what stands in its place, as long as it is. */
const varies: [string, string][] = [
  [String.raw`\b\d{8}-\d{6}\.\d{3}-[0-9a-f]{6}\b`, "20260301-120000.000-abc123"],
  [String.raw`/tmp/cw\w+`, "/home/you/code"],
  [String.raw`\bag_[0-9a-z]{8}\b`, "ag_abcd1234"],
  [String.raw`127\.0\.0\.1:\d+`, "127.0.0.1:8420"],
  [String.raw`\b\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4}\b`, "1 Mar 2026"],
  [String.raw`\b\d{4}-\d\d-\d\d\b`, "2026-03-01"],
  [String.raw`\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d{1,2}\b`, "Mar 1"],
  [String.raw`\b\d{1,2}:\d\d(?::\d\d)?(?:\s[AP]M)?`, "12:00"],
  [String.raw`\b\d+(?:\.\d+)?\s?(?:ms|s|m|h)\b(?: \d+\s?(?:s|m)\b)?`, "5s"],
  [String.raw`\b\d+(?:\.\d+)? ?(?:[kKMG]i?B|bytes|B)\b`, "1 KB"],
  [String.raw`\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b`, "abc1234"],
  [String.raw`\b(?=[0-9a-z]*\d)(?=[0-9a-z]*[a-z])[0-9a-z]{13}\b`, "abcdefgh12345"],
];

/** Puts the same text where each run has another, so that lines break at the same places. */
async function settle(page: Page): Promise<void> {
  await page.evaluate((rules) => {
    const patterns = rules.map(([from, to]) => [new RegExp(from, "g"), to] as const);
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = node.nodeValue ?? "";
      const settled = patterns.reduce((t, [from, to]) => t.replace(from, to), text);
      if (settled !== text) {
        node.nodeValue = settled;
      }
    }
  }, varies);
}

/** What happened, in an order that is the same each time: agents at work side by side have none. */
const happened = [
  { source: "agent:painter", kind: "tool_use", body: { tool: "Bash", input: { command: "go test ./..." } } },
  { source: "agent:painter", kind: "tool_result", body: { failed: true, text: "1 test failed" } },
  { source: "agent:painter", kind: "text", body: { text: "The door has no primer yet. I sand it first, and paint it green then." } },
  { source: "tasks", kind: "move", body: { task: "t1", op: "move", to: "working", by: "cmux" } },
  { source: "mailbox", kind: "message", body: { from: "painter", to: "user", subject: "[QUESTION] Which color?" } },
  { source: "incidents", kind: "open", body: { incident: "i1", op: "open", title: "a program that an agent needs is missing" } },
  { source: "audit", kind: "order", body: { by: "user", order: "workers reset", about: "painter" } },
  { source: "run:20260301-120000.000-abc123/api", kind: "end", body: { state: "done" } },
];

async function settleActivity(page: Page): Promise<void> {
  const head = { seq: 1_000_000, epoch: "golden" };
  const items = Array.from({ length: 40 }, (_, i) => ({ ...happened[i % happened.length], seq: head.seq - i, at: "2026-03-01T12:00:00Z" }));
  await page.route("**/api/agent-events?*", (route) => route.fulfill({ json: { items, head } }));
}

test("every page looks as it did", async ({ org, page, browser }, { config }) => {
  test.setTimeout(300_000);
  const alone = config.configFile?.endsWith("golden.config.ts") === true;
  test.skip(!alone && !browser.version().startsWith(drawnBy), `the pictures were drawn by Chromium ${drawnBy}x, this is ${browser.version()}`);
  setScene(org);
  await org.open(page);
  await page.evaluate(() => localStorage.setItem("cmux-first-steps-seen", "1"));
  const { id } = (JSON.parse(org.cmux("agents", "status", "--json")) as { run: { id: string } }).run;
  await settleActivity(page);
  for (const [name, path] of Object.entries(paths)) {
    await page.goto(new URL(path.replace("RUN", id), page.url()).href);
    await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
    for (const { width, height, scheme } of looks) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
      await expect(page.getByText("The graph is being laid out")).toHaveCount(0);
      await expect(page.getByText("not seen yet")).toHaveCount(0); // the heartbeat of the health page
      await settle(page);
      await expect.soft(page).toHaveScreenshot(`${name}-${width.toString()}-${scheme}.png`, { stylePath: join(import.meta.dirname, "golden.css") });
    }
  }
});
