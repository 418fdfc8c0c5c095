import { healthy } from "./checks";
import { expect, test, type Organization, type Page } from "./organization";

/** Opens the page of a project that has neither graph nor organization. */
async function openFirst(org: Organization, page: Page): Promise<void> {
  org.write({ "go.mod": "module shop\n" });
  org.run("git", "add", "-A");
  org.run("git", "commit", "-qm", "A module");
  await page.goto(org.cmux("agents", "open", "--print").trim().split("\n").at(-1) ?? "");
  await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
}

async function sound(page: Page, name: string): Promise<void> {
  for (const [width, height] of [[360, 740], [1440, 900]] as const) {
    await page.setViewportSize({ width, height });
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), `${name} at ${width}`).toBe(0);
    await healthy(page, `${name} at ${width}`);
  }
}

test("an empty project is led to a first run, which fails, is retried, approved and done", async ({ org, page }) => {
  await openFirst(org, page);
  await expect(page.getByRole("heading", { name: "Begin here" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Start the organization" })).toBeVisible();
  await sound(page, "welcome");

  await page.getByRole("link", { name: /^Look at the demo/ }).click();
  await sound(page, "demo");
  await page.getByRole("button", { name: "Draw the graph of 5 nodes" }).click();
  await expect(page.getByText("Nothing is wrong: 5 nodes")).toBeVisible();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Start the run" }).click();
  await page.waitForURL(/\/runs\/\d/);

  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: /^Needs you/ }).click();
  await page.getByRole("link", { name: /^Failure flaky/ }).click();
  await page.getByRole("button", { name: "Retry", exact: true }).click();
  await page.getByRole("button", { name: /^Send now: flaky/ }).click();
  await page.getByRole("link", { name: /^Gate approval/ }).click();
  await page.getByRole("button", { name: "Approve", exact: true }).first().click();
  await page.getByRole("button", { name: /^Send now: approval/ }).click();
  await expect.poll(() => org.cmux("agents", "status")).toMatch(/ship\s.*done/);

  await page.getByRole("link", { name: "Activity" }).click();
  const story = page.getByRole("list", { name: "What happened, newest first" });
  await expect(story.getByRole("article").filter({ hasText: /Run shop is done/ })).toBeVisible();
  await expect(story.getByRole("article").filter({ hasText: "You approved the gate approval in shop" })).toBeVisible();
  await expect(story.getByRole("article").filter({ hasText: "flaky ended: failed (exit 1) in shop" })).toBeVisible();
  await sound(page, "story");
});

test("a graph is written by hand in a repository without commits, and starts", async ({ org, page }) => {
  org.run("git", "update-ref", "-d", "HEAD"); // as git init leaves it
  await page.goto(org.cmux("agents", "open", "--print").trim().split("\n").at(-1) ?? "");
  await page.getByRole("link", { name: /^Write it by hand/ }).click();
  await expect(page.getByText("Nothing is wrong: 3 nodes")).toBeVisible();
  // Who empties the text to write another one stays where it is written.
  const text = page.getByRole("textbox", { name: "Text of .cmux-agents.yml" });
  await text.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await expect(page.getByRole("group", { name: "Check" }).getByText("1 error")).toBeVisible();
  await page.keyboard.insertText("session: main\nagents:\n  - name: hello\n    agent: command\n    task: echo hello\n");
  // A session that no branch can be made of is a fault before the start refuses it.
  await expect(page.getByRole("group", { name: "Check" }).getByText("git cannot make the branch main/hello while there is a branch main")).toBeVisible();
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("End");
  await page.keyboard.type("-shop");
  await expect(page.getByText("Nothing is wrong: 1 node")).toBeVisible();
  await page.getByRole("button", { name: "Add a node" }).click();
  const add = page.getByRole("dialog");
  await add.getByLabel("Name").fill("ok");
  await add.getByLabel("Kind").selectOption("gate");
  await add.getByRole("checkbox", { name: "hello" }).check();
  await add.getByRole("button", { name: "Add", exact: true }).click();
  await expect(page.getByText("Nothing is wrong: 2 nodes")).toBeVisible();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  const start = page.getByRole("dialog");
  await start.getByRole("button", { name: "Make the first commit" }).click();
  await start.getByRole("button", { name: "Start the run" }).click();
  await page.waitForURL(/\/runs\/\d/);
  expect(org.run("git", "ls-tree", "--name-only", "HEAD")).toContain(".cmux-agents.yml");
  await expect.poll(() => org.cmux("agents", "status")).toMatch(/hello\s.*done/);
});

test("tasks in a sentence become a graph with the project's check", async ({ org, page }) => {
  await openFirst(org, page);
  await page.getByRole("link", { name: /^Say what should be done/ }).click();
  await page.getByLabel("Tasks").fill("Fix the login and add a search box, then write the docs");
  await sound(page, "tasks");
  await page.getByRole("button", { name: "Draw the graph of 4 nodes" }).click();
  await expect(page.getByText("Nothing is wrong: 4 nodes")).toBeVisible();
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("status").filter({ hasText: ".cmux-agents.yml, saved" })).toBeVisible();
  const text = org.read(".cmux-agents.yml");
  expect(text).toContain("depends_on: [fix-login, add-search-box]");
  expect(text).toContain('verify: ["go test ./..."]');

  // The palette takes what is typed before its code has come.
  let release = () => {};
  const held = new Promise<void>((go) => (release = go));
  await page.route("**/assets/Palette-*", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(new URL("/", page.url()).href, { waitUntil: "commit" });
  await page.getByRole("heading", { name: "Needs you" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("graph");
  await expect(page.getByRole("textbox", { name: "Find a page, a thing or a command" })).toHaveValue("graph");
  release();
  await expect(page.getByRole("option", { selected: true })).toHaveText(/^Graph/);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/config\/agents$/);
});
