import { faultsOf, look } from "./checks";
import { startModel } from "./model";
import { expect, test, type Organization, type Page } from "./organization";

/** What the model says as supervisor. */
const script = `scripts:
  - name: supervisor
    match: "You are supervisor,"
    turns:
      - - text: "What should be **done**?"
      - - text: "The door is <b>blue</b> now."
`;

async function openFirst(org: Organization, page: Page): Promise<void> {
  org.write({ "go.mod": "module shop\n" });
  org.run("git", "add", "-A");
  org.run("git", "commit", "-qm", "A module");
  await page.goto(org.cmux("agents", "open", "--print").trim().split("\n").at(-1) ?? "");
  await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
}

const dialog = (page: Page) => page.getByRole("dialog", { name: "Start the organization" });
const start = (page: Page) => page.getByRole("main").getByRole("button", { name: "Start the organization" });
const to = (page: Page, name: RegExp) => page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name }).click();

test("an organization of Claude Code is started, talked to, stopped and started again from the page", async ({ org, page }) => {
  test.setTimeout(180_000);
  const faults = faultsOf(page);
  const model = await startModel(org, script);
  try {
    await openFirst(org, page);
    await start(page).click();
    await expect(dialog(page).getByRole("group", { name: "How may the agents of this project act?" }).getByRole("radio")).toHaveCount(3);
    await expect(dialog(page).getByLabel("Check")).toHaveValue("go test ./...");
    await look(page, "organization-start");

    // By keyboard: the other answer, another check, and it starts. The page stays while its server changes.
    await dialog(page).getByRole("radio", { name: /^ask/ }).focus();
    await page.keyboard.press("ArrowDown");
    await expect(dialog(page).getByRole("radio", { name: /^auto/ })).toBeChecked();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Tab");
    await page.keyboard.type("test -e go.mod");
    await page.keyboard.press("Enter");
    await expect(page.getByText("The organization starts: supervisor.")).toBeVisible();
    await expect(page).toHaveURL(/\/chat$/);
    expect(org.read(".cmux/config.yml")).toBe('permissions: bypass\nverify: ["test -e go.mod"]\n');
    const said = page.getByRole("main").getByRole("article");
    await expect(said.filter({ hasText: "What should be done?" })).toBeVisible({ timeout: 60_000 });
    await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
    await page.getByRole("textbox", { name: /^Message/ }).fill("Paint the door");
    await page.keyboard.press("Enter");
    await expect(said.filter({ hasText: "The door is <b>blue</b> now." })).toBeVisible({ timeout: 60_000 });

    await to(page, /^Agents/);
    await page.getByRole("button", { name: "Stop the organization" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Stop the organization" }).click();
    await expect(page.getByText("The organization stops.")).toBeVisible();
    await expect(page.getByText("The organization is stopped.")).toBeVisible({ timeout: 60_000 });
    await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
    expect(org.cmux("status")).toContain("stopped");
    await look(page, "organization-stopped");

    // Nothing is asked again.
    await start(page).click();
    await expect(dialog(page).getByText("Every agent comes back in its conversation")).toBeVisible();
    await expect(dialog(page).getByRole("radio")).toHaveCount(0);
    await dialog(page).getByRole("button", { name: "Start the organization" }).click();
    await expect(page).toHaveURL(/\/chat$/);
    await expect.poll(() => org.cmux("status"), { timeout: 60_000 }).toMatch(/supervisor\s.*idle/);
    await expect(said.filter({ hasText: "The door is <b>blue</b> now." })).toBeVisible();
  } finally {
    model.kill();
  }
  // While one server takes over from the other, nobody answers for a moment.
  expect(faults.filter((f) => !f.includes("ERR_CONNECTION_REFUSED"))).toEqual([]);
});

test("what keeps an organization from starting is said, with what helps, and is tried again", async ({ org, page }) => {
  await openFirst(org, page);
  org.write({ ".cmux/config.yml": "size: red\n", ".cmux/roles/supervisor.md": "cat > /dev/null\n" });
  await to(page, /^Agents/);
  await expect(page.getByText("This project has no organization")).toBeVisible();
  await start(page).click();
  await expect(dialog(page)).toContainText("size");
  org.write({ ".cmux/config.yml": "supervisor: {agent: nobody}\n" });
  await dialog(page).getByRole("button", { name: "Try again" }).click();
  await expect(dialog(page)).toContainText('there is no kind of agent "nobody"');
  org.write({ ".cmux/config.yml": "supervisor: {agent: scripted}\n" });
  await dialog(page).getByRole("button", { name: "Try again" }).click();
  await expect(dialog(page).getByRole("radio")).toHaveCount(3);

  // Another terminal is faster: nothing is started twice. It is between the click and the order that
  // it starts, since a page that has seen the agents no longer shows the dialog.
  await page.route("**/api/organization/start", async (route) => {
    if (route.request().method() === "POST") {
      org.cmux("start", "--detach", "--yes");
      org.link(); // its server answers
    }
    await route.continue();
  });
  await dialog(page).getByRole("button", { name: "Start the organization" }).click();
  await expect(page.getByText("The organization already runs in session cmux-shop.")).toBeVisible();
  await expect(page).toHaveURL(/\/chat$/);
});
