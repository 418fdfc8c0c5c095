import type { Page } from "@playwright/test";

import { expect, test, type Organization } from "./organization";
import { healthy } from "./checks";

/** A node that asks a person, whose gate keeps the run live. */
const config = `session: shop
main_pane: false
defaults: {agent: command}
agents:
  - name: ask
    agent: scripted
    task: |
      echo '{"text": "Which way? <img src=x onerror=window.hurt=1>"}' | cmux hook question
      read -r said
      echo "$said" > said; git add said; git commit -qm said
      cmux done "Went $said"
      cat > /dev/null
  - {name: gate, role: gate, depends_on: [ask]}
`;

declare global {
  interface Window {
    away?: boolean; // nobody looks at the page
    notes: { title: string; body: string }[]; // what the browser was told to notify of
  }
}

const narrow = [360, 740, "dark"] as const;
const wide = [1440, 900, "light"] as const;

/** The page has no fault of accessibility, keeps to its width, and ran nothing that it was shown. */
async function sound(page: Page, name: string, looks: readonly (typeof narrow | typeof wide)[] = [narrow]): Promise<void> {
  const pictures = process.env.CMUX_PICTURES;
  for (const [width, height, colorScheme] of pictures === undefined ? looks : [wide, narrow]) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme });
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), `${name} at ${width}`).toBe(0);
    await healthy(page, `${name} at ${width}`);
    if (pictures !== undefined) {
      await page.waitForTimeout(300);
      await page.screenshot({ path: `${pictures}/${name}-${width}-${colorScheme}.png` });
    }
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: "light" });
  expect(await page.evaluate(() => "hurt" in window), `${name} ran what it was shown`).toBe(false);
}

const saved = (org: Organization) => org.read(".cmux-agents.yml");

test("the graph of agents is edited, started, answered, extended and compared from the page alone", async ({ org, page, context }) => {
  test.setTimeout(180_000); // on a machine that does much else
  const faults: string[] = []; // the policy's refusals, too
  page.on("console", (m) => m.type() === "error" && faults.push(m.text()));
  page.on("pageerror", (e) => faults.push(e.message));
  await context.grantPermissions(["notifications"]);
  await page.addInitScript(() => {
    window.notes = [];
    const { visibilityState } = Object.getOwnPropertyDescriptors(Document.prototype) as Record<string, PropertyDescriptor>;
    Object.defineProperty(Document.prototype, "visibilityState", { get(this: Document) { return window.away === true ? "hidden" : (visibilityState?.get?.call(this) as string); } });
    const Real = window.Notification;
    window.Notification = class extends Real {
      constructor(title: string, options?: NotificationOptions) {
        super(title, options);
        window.notes.push({ title, body: options?.body ?? "" });
      }
    };
  });
  org.write({ ".cmux-agents.yml": config });
  org.start();
  await org.open(page, "/config/agents");
  const text = page.getByRole("textbox", { name: "Text of .cmux-agents.yml" });
  const graph = page.getByRole("group", { name: "Graph of the configuration" });
  const sidebar = page.getByRole("navigation", { name: "Pages" });
  const state = page.getByRole("status").filter({ hasText: ".cmux-agents.yml" });
  await expect(graph.getByText("gate", { exact: true }).first()).toBeVisible();
  await expect(state).toHaveText(".cmux-agents.yml, saved");

  // Its styles come in elements of its own, which the policy lets in by their nonce alone.
  expect(await page.locator(".cm-scroller").evaluate((e) => [getComputedStyle(e).display, getComputedStyle(e.querySelector(".cm-gutters") ?? e).display])).toEqual(["flex", "flex"]);
  expect(await page.evaluate(() => [...document.querySelectorAll("style")].every((s) => s.nonce !== "" && s.sheet !== null))).toBe(true);

  // What is wrong is shown where it is, while it is typed; the last sound graph stays.
  const lines = config.trimEnd().split("\n").length;
  await text.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText("  - {name: late, task: \"true\", depends_on: [gone]}\n");
  const check = page.getByRole("group", { name: "Check" });
  await expect(check.getByText("1 error")).toBeVisible();
  await expect(page.locator(".cm-lintRange-error")).toHaveCount(1);
  await expect(page.locator(".cm-line").filter({ has: page.locator(".cm-lintRange-error") })).toContainText("name: late");
  await expect(state).toHaveText(".cmux-agents.yml, not saved");
  await expect(page.getByRole("button", { name: "Start", exact: true })).toBeDisabled();
  await expect(graph.getByText("late", { exact: true })).toHaveCount(0);
  await sound(page, "editor-fault", [wide, narrow]);
  await check.getByRole("button", { name: new RegExp(`^\\.cmux-agents\\.yml:${lines + 1}:`) }).click();
  await expect(text).toBeFocused();

  // Mended, it is drawn at once; nothing is lost by a look at another page.
  await page.keyboard.press("End");
  for (let i = 0; i < "gone]}".length; i++) {
    await page.keyboard.press("Backspace");
  }
  await page.keyboard.type("gate"); // the bracket was closed by the editor
  await page.keyboard.insertText("]}");
  await expect(graph.getByText("late", { exact: true })).toBeVisible();
  await sidebar.getByRole("link", { name: "Runs", exact: true }).click();
  await page.getByRole("link", { name: "Graph", exact: true }).click();
  await expect(graph.getByText("late", { exact: true })).toBeVisible();
  await expect(state).toHaveText(".cmux-agents.yml, not saved");

  // Somebody else writes the file meanwhile: the person decides, and starts nothing unseen.
  org.write({ ".cmux-agents.yml": config.replace("session: shop", "session: shop # theirs") });
  await expect(page.getByRole("alert")).toContainText("The file says something else by now");
  await expect(page.getByRole("button", { name: "Save" })).toBeDisabled();
  await page.getByRole("button", { name: "Write mine over it" }).click();
  await expect(state).toHaveText(".cmux-agents.yml, saved");
  expect(saved(org)).toBe(`${config}  - {name: late, task: "true", depends_on: [gate]}\n`);
  org.write({ ".cmux-agents.yml": config });
  await expect(text).not.toContainText("late"); // nobody edits it: it follows
  await text.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText("# mine\n");
  await page.keyboard.press("Control+s");
  await expect(state).toHaveText(".cmux-agents.yml, saved");
  expect(saved(org)).toBe(`${config}# mine\n`);

  // What is typed while a text is being saved is saved after it, if the person says so.
  let release = () => {};
  const held = new Promise<void>((go) => (release = go));
  await page.route("**/api/graph", async (route) => {
    if (route.request().method() === "PUT") {
      await held;
    }
    await route.continue();
  });
  await page.keyboard.insertText("# more\n");
  const sent = page.waitForRequest((r) => r.method() === "PUT");
  await page.keyboard.press("Control+s");
  await sent;
  await page.keyboard.insertText("# and more\n");
  await page.keyboard.press("Control+s");
  release();
  await expect.poll(() => saved(org)).toBe(`${config}# mine\n# more\n# and more\n`);
  await expect(state).toHaveText(".cmux-agents.yml, saved");
  await page.unroute("**/api/graph");
  await page.getByRole("tab", { name: "Schedule" }).click();
  await expect(page.getByText(/if every node succeeds/)).toBeVisible();
  await sound(page, "editor");

  // A run of it asks; who is away is told.
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Start the run" }).click();
  await page.waitForURL(/\/runs\/\d/);
  const run = new URL(page.url()).pathname;
  await page.evaluate(() => (window.away = true));
  await expect(page).toHaveTitle("(1) Run of shop · cmux");
  await expect.poll(() => page.evaluate(() => window.notes.map((n) => n.title))).toEqual(["Question: ask"]);
  expect(await page.evaluate(() => window.notes[0]?.body)).toContain("Which way?");
  await page.evaluate(() => (window.away = false));

  // It is answered in place.
  await page.getByRole("link", { name: /Needs you/ }).click();
  const need = page.getByRole("region", { name: "ask", exact: true });
  await need.getByLabel("Answer ask").fill("left");
  await sound(page, "needs-question");
  await need.getByRole("button", { name: "Answer" }).click();
  await page.getByRole("button", { name: "Send now: ask: answered “left”" }).click();
  await expect(page.getByRole("link", { name: "Gate gate, run shop" })).toBeVisible();

  // A node is added to the live run.
  await sidebar.getByRole("link", { name: "Runs", exact: true }).click();
  await page.getByRole("link", { name: "Graph", exact: true }).click();
  await page.getByRole("button", { name: "Add a node" }).click();
  const add = page.getByRole("dialog");
  await add.getByLabel("Name").fill("late");
  await add.getByLabel("Command").fill("echo late > late && git add late && git commit -qm late");
  await add.getByRole("checkbox", { name: "ask" }).check();
  await sound(page, "editor-add");
  await add.getByRole("button", { name: "Add", exact: true }).click();
  await expect(graph.getByText("late", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Update run" }).click();
  const update = page.getByRole("dialog");
  await expect(update.getByRole("group", { name: "Graph after the update" }).getByText("new", { exact: true })).toBeVisible();
  await expect(update.getByRole("group", { name: "Changes" }).getByRole("row").filter({ hasText: "late" })).toBeVisible();
  await sound(page, "editor-update");
  await update.getByRole("button", { name: "Update the run" }).click();
  await page.waitForURL((url) => url.pathname === run); // the update leads to what it changed
  await expect(page.getByRole("group", { name: "Graph of the run" }).getByRole("button", { name: /^late.* done/ })).toBeVisible();
  await sound(page, "run");

  // Another run, and both beside each other.
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Stop the run" }).click();
  await sidebar.getByRole("link", { name: "Runs", exact: true }).click();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  const second = page.getByRole("dialog");
  await second.getByLabel("End an unfinished run first").check();
  await second.getByRole("button", { name: "Start the run" }).click();
  await expect(page).not.toHaveURL(new RegExp(`${run}$`));
  await page.waitForURL(/\/runs\/\d/);
  await sidebar.getByRole("link", { name: "Runs", exact: true }).click();
  const boxes = page.getByRole("checkbox", { name: /^Compare run/ });
  await expect(boxes).toHaveCount(2);
  await boxes.nth(0).check();
  await boxes.nth(1).check();
  await page.getByRole("button", { name: "Compare 2 of 2" }).click();
  const compared = page.getByRole("group", { name: "Comparison" });
  await expect(compared.getByRole("row").filter({ hasText: "late" })).toContainText("done");
  await sound(page, "compare");
  expect(faults.filter((f) => !f.includes("status of 409"))).toEqual([]); // the file that had changed
});
