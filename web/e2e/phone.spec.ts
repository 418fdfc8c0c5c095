/*
 * A whole job on a telephone: from an empty folder to merged work, by touch alone.
 */
import { expect, test, type Page } from "./organization";

test.use({ viewport: { width: 360, height: 740 }, hasTouch: true });

/** build fails in its first attempt. */
const graph = `session: shop
agents:
  - name: build
    agent: command
    task: "case $CMUX_ATTEMPT in */1) exit 1;; esac; echo one > shop.txt; git add -A; git commit -qm 'The shop'"
    retries: 0
  - {name: ok, role: gate, depends_on: [build]}
  - {name: ship, agent: command, role: review, task: "true", depends_on: [ok]}
`;

const list = (page: Page) => page.getByRole("list", { name: "What waits for you" });
const theCase = (page: Page, name: string) => page.getByRole("region", { name, exact: true });

/** Nothing is wider than the screen. */
async function fits(page: Page): Promise<void> {
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
}

/** The door of the menu, whose button says how much waits. */
async function goTo(page: Page, door: RegExp): Promise<void> {
  await page.getByRole("button", { name: /^Menu/ }).tap();
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: door }).tap();
}

/** Decides in the case of a row, and is back at the list. */
async function decide(page: Page, row: RegExp, name: string, button: string): Promise<void> {
  await list(page).getByRole("link", { name: row }).tap();
  const act = theCase(page, name).getByRole("button", { name: button, exact: true });
  await expect(act).toBeInViewport();
  await fits(page);
  await act.tap();
  await expect(theCase(page, name)).toHaveCount(0);
  await page.getByRole("button", { name: new RegExp(`^Send now: ${name}`) }).tap();
}

test("a whole job on a telephone: graph, start, failure, retry, gate, review and merge", async ({ org, page }) => {
  org.run("git", "update-ref", "-d", "HEAD"); // as git init leaves it
  await page.goto(org.cmux("agents", "open", "--print").trim().split("\n").at(-1) ?? "");
  await page.getByRole("link", { name: /^Write it by hand/ }).tap();
  await expect(page.getByText("Nothing is wrong: 3 nodes")).toBeVisible();
  await page.getByRole("textbox", { name: "Text of .cmux-agents.yml" }).tap();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(graph);
  await expect(page.getByText("Nothing is wrong: 3 nodes")).toBeVisible();
  await fits(page);
  await page.getByRole("button", { name: "Save" }).tap();
  await page.getByRole("button", { name: "Start", exact: true }).tap();
  const start = page.getByRole("dialog");
  await start.getByRole("button", { name: "Make the first commit" }).tap();
  // What starts it is in reach, however long the plan is; the axis says no two times at one place.
  await expect(start.getByRole("region", { name: "Schedule" })).toBeAttached();
  await expect(start.getByRole("button", { name: "Start the run" })).toBeInViewport({ ratio: 1 });
  const times = await start.locator("[data-tick]").evaluateAll((all) => all.map((e) => e.getBoundingClientRect()).map(({ left, right }) => [left, right] as const));
  expect(times.length).toBeGreaterThan(1);
  times.slice(1).forEach(([left], i) => expect(left).toBeGreaterThanOrEqual(times[i]?.[1] ?? 0));
  await start.getByRole("button", { name: "Start the run" }).tap();
  await page.waitForURL(/\/runs\/\d/);

  await expect(page.getByRole("button", { name: "Menu, 1 thing waits for you" })).toBeVisible();
  expect((await page.getByRole("tablist", { name: "Views of the run" }).boundingBox())?.y).toBeLessThan(250); // of 740
  await goTo(page, /^Needs you/);
  await decide(page, /^Failure build/, "build", "Retry");
  await decide(page, /^Gate ok/, "ok", "Approve");
  await expect.poll(() => org.cmux("agents", "status")).toMatch(/ship\s.*done/);
  await decide(page, /^Review build/, "build", "Approve");
  await expect.poll(() => org.cmux("agents", "review", "build")).toContain("approved");
  await goTo(page, /^Runs/);
  await page.getByRole("link", { name: /^shop/ }).first().tap();
  await page.getByRole("link", { name: "Merge into main" }).tap();
  await page.getByRole("button", { name: "Merge", exact: true }).tap();
  await page.getByRole("dialog").getByRole("button", { name: "Merge" }).tap();
  await expect(page.getByText(/Into main: .*build/)).toBeVisible();
  await fits(page);
  expect(org.run("git", "show", "main:shop.txt")).toBe("one\n");
});
