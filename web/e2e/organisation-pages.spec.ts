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

test("agents, chat and tasks: spawned, told and assigned from the page alone", async ({ org, page }) => {
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
  expect(faults).toEqual([]);
});
