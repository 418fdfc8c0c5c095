import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

import { expect, test } from "./organisation";

/** Text that does harm where it is taken for anything else. */
const hostile = `<img src=x onerror="window.hurt=1"><script>window.hurt=2</script> [run](javascript:window.hurt=3)`;

/** The page has no fault of accessibility, keeps to its width, and ran nothing that it was shown. */
async function sound(page: Page, name: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map((v) => `${name} ${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${name} is as wide as the window`).toBe(true);
  expect(await page.evaluate(() => "hurt" in window), `${name} ran what it was shown`).toBe(false);
  const pictures = process.env.CMUX_PICTURES;
  if (pictures !== undefined) {
    await page.screenshot({ path: `${pictures}/${name}.png` });
  }
}

test("agents, chat and tasks: spawned, told, assigned, cancelled from the page alone", async ({ org, page }) => {
  org.start();
  const faults: string[] = [];
  page.on("console", (m) => m.type() === "error" && faults.push(m.text()));
  await org.open(page, "/agents");
  await page.evaluate(() => localStorage.setItem("cmux-first-steps-seen", "1"));
  await page.reload();
  await expect(page.getByRole("link", { name: "supervisor" })).toBeVisible();
  await page.getByRole("button", { name: "Spawn" }).click();
  await page.getByLabel("Name", { exact: true }).fill("api");
  await page.getByRole("dialog").getByRole("button", { name: "Spawn" }).click();
  await expect(page.getByRole("link", { name: "api" })).toBeVisible();
  await sound(page, "agents");

  await page.goto(new URL("/chat/api", page.url()).href);
  const input = page.getByLabel("Message to api");
  await input.fill(`Hello **api**\n${hostile}`);
  await input.press("Control+Enter");
  await expect(page.getByRole("article").getByText("Hello **api**")).toBeVisible();
  await expect(page.getByRole("article").getByText("confirmed")).toBeVisible();
  await sound(page, "chat");

  await page.goto(new URL("/tasks", page.url()).href);
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByLabel("Title").fill(`Mend ${hostile}`);
  await page.getByRole("dialog").getByRole("button", { name: "Add", exact: true }).click();
  const open = page.getByRole("region", { name: /^Open, 1/ });
  await expect(open.getByText("window.hurt=1")).toBeVisible();
  await sound(page, "tasks");

  // By the keyboard: the menu has what a drop does.
  await open.getByRole("button", { name: "Orders for t1" }).press("Enter");
  await page.getByRole("menuitem", { name: "Assign…" }).press("Enter");
  await page.getByLabel("Agent", { exact: true }).selectOption("api");
  await page.getByRole("dialog").getByRole("button", { name: "Assign" }).press("Enter");
  const working = page.getByRole("region", { name: /^Working, 1/ });
  await expect(working.getByRole("button", { name: "Orders for t1" })).toBeVisible();

  // By a drop, where an order exists; Open takes none.
  await working.getByText("window.hurt=1").dragTo(page.getByRole("region", { name: /^Open,/ }));
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await working.getByText("window.hurt=1").dragTo(page.getByRole("region", { name: /^Cancelled,/ }));
  await page.getByRole("dialog").getByRole("button", { name: "Cancel the task" }).click();
  await expect(page.getByRole("region", { name: /^Cancelled, 1/ })).toBeVisible();
  await page.goto(new URL("/tasks/t1", page.url()).href);
  await expect(page.getByRole("heading", { name: /t1 Mend/ })).toBeVisible();
  await sound(page, "task");

  await page.goto(new URL("/agents/api", page.url()).href);
  await expect(page.getByRole("heading", { name: "api" })).toBeVisible();
  await page.getByRole("tab", { name: "Inbox" }).click();
  await expect(page.getByRole("list", { name: "Inbox of api" }).getByText("Hello **api**")).toBeVisible();
  await sound(page, "agent");
  expect(faults).toEqual([]);
});

test("activity, health, budget, plans, explorer, projects and settings are drawn, live and sound", async ({ org, page }) => {
  org.start();
  org.write({
    "notes/<img src=x onerror=alert(1)>.md": `# Heading\n\n${hostile}\n`,
    ".cmux/config.yml": "supervisor: {agent: scripted}\nmax_standing: 3\n",
  });
  const faults: string[] = [];
  page.on("console", (m) => m.type() === "error" && faults.push(m.text()));
  await org.open(page, "/activity");
  await page.evaluate(() => localStorage.setItem("cmux-first-steps-seen", "1"));
  await page.reload();
  const to = async (path: string) => page.goto(new URL(path, page.url()).href);
  await expect(page.getByRole("list", { name: "What happened, newest first" })).toBeVisible();
  org.cmux("tasks", "add", `live ${hostile}`);
  await expect(page.getByRole("listitem").getByText("add live").first()).toBeVisible();
  await sound(page, "activity");
  await page.getByRole("tab", { name: "Time line" }).click();
  await expect(page.getByRole("img", { name: /^tasks: / })).toBeVisible();
  await sound(page, "activity-timeline");

  await to("/health");
  await expect(page.getByText("Heartbeat", { exact: true })).toBeVisible();
  await sound(page, "health");
  await page.getByRole("tab", { name: "Recovery" }).click();
  await expect(page.getByRole("button", { name: "Dry run" })).toBeVisible();
  await page.getByRole("tab", { name: "Morning report" }).click();
  await expect(page.getByText("What waits for you")).toBeVisible();
  await sound(page, "report");
  await page.getByRole("tab", { name: "Doctor" }).click();
  await expect(page.getByRole("button", { name: "Look again" })).toBeVisible();
  await sound(page, "doctor");

  await to("/budget");
  await expect(page.getByText("No account has met a limit.")).toBeVisible();
  await sound(page, "budget");

  await to("/plans");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByLabel("Title").fill("Look at the tests");
  await page.getByLabel("Times").selectOption("every");
  await page.getByLabel("When").fill("2h");
  await page.getByRole("dialog").getByRole("button", { name: "Add", exact: true }).click();
  await expect(page.getByText("Look at the tests")).toBeVisible();
  await sound(page, "schedule");
  await page.getByRole("tab", { name: "Locks" }).click();
  await page.getByLabel("Name of a lock").fill("port");
  await page.getByRole("button", { name: "Take" }).click();
  await expect(page.getByText("held by user")).toBeVisible();
  await page.getByRole("button", { name: "Release" }).click();
  await expect(page.getByText("No lock is held")).toBeVisible();
  for (const tab of ["Teams", "Alerts", "Maintenance"]) {
    await page.getByRole("tab", { name: tab }).click();
    await sound(page, tab.toLowerCase());
  }

  await to("/explorer");
  await page.getByRole("button", { name: "notes" }).click();
  await page.getByRole("button", { name: /onerror=alert/ }).click();
  await expect(page.getByText("Heading")).toBeVisible();
  await sound(page, "explorer");

  await to("/settings");
  await expect(page.getByRole("row", { name: /max_standing/ })).toBeVisible();
  await sound(page, "settings");
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
  await expect(page.getByText("What is in force is what the file says.")).toBeVisible();
  await to("/projects");
  await expect(page.getByRole("button", { name: "Register a project" })).toBeVisible();
  await sound(page, "projects");
  await to("/first-steps");
  await expect(page.getByRole("main").getByRole("listitem").first()).toBeVisible();
  await sound(page, "first-steps");

  // Every order by the palette: a message, sent from any page.
  await page.keyboard.press("Control+k");
  await page.getByPlaceholder("A page, an agent").fill("add an entry, as you");
  await sound(page, "palette");
  await page.keyboard.press("Enter");
  await page.getByLabel("title", { exact: true }).fill("From the palette");
  await page.getByRole("button", { name: "Give the order" }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect.poll(() => org.cmux("journal", "show")).toContain("From the palette");
  expect(faults).toEqual([]);
});
