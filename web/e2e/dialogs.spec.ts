/*
 * What Claude Code itself asks: in a dialog of its own, which only keys answer, and for
 * permission. Claude Code is real; a script is its model.
 */
import type { Page } from "@playwright/test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { faultsOf, look } from "./checks";
import { startModel } from "./model";
import { expect, test, type Organization } from "./organization";

const script = `scripts:
  - name: painter
    match: Paint the door
    turns:
      - - shell: cp /dev/null one
      - - shell: cp /dev/null two
      - - shell: cp /dev/null three
      - - report: "nothing was needed: the door is painted"
      - - text: It is painted.
      - - report: "painted again" # after a denial cmux asks again
      - - text: It is painted.
`;

const row = (page: Page, name: string) => page.getByRole("list", { name: "What waits for you" }).getByRole("link", { name: `${name} painter, run house` });

/** Begins a run whose agent opens on the dialog of an API key that nobody has approved, and asks before each command. */
async function begin(org: Organization, page: Page): Promise<void> {
  const settings = join(org.dir, "person", ".claude");
  writeFileSync(join(settings, "settings.json"), JSON.stringify({ skipDangerousModePermissionPrompt: true, permissions: { defaultMode: "manual" } }));
  // While the run starts the key is approved: else it would not start.
  org.write({
    ".cmux-agents.yml": `session: house
agents:
  - {name: prepare, agent: command, role: review, task: "sed -i 's/.dummy.//' ${join(settings, ".claude.json")}"}
  - {name: painter, agent: claude, task: Paint the door, auto_accept: false, depends_on: [prepare]}
`,
  });
  org.run("git", "add", "-A");
  org.run("git", "commit", "-qm", "house");
  org.unfence(); // the first node writes the settings of Claude Code
  org.start();
  org.cmux("agents", "start", "--yes", "--detach");
  await org.open(page);
}

test("a dialog is answered in its terminal, and permissions by button, by key and on a telephone", async ({ org, page }) => {
  const faults = faultsOf(page);
  const model = await startModel(org, script);
  try {
    await begin(org, page);
    const painter = page.getByRole("region", { name: "painter", exact: true });

    // The dialog: its screen, and the way to where keys answer it, by button and by key.
    await row(page, "Dialog").click();
    await expect(painter.getByRole("group", { name: "The dialog of painter" })).toContainText("Do you want to use this API key?");
    await look(page, "case-dialog");
    const terminal = page.getByRole("region", { name: "Terminal of painter" });
    await painter.getByRole("link", { name: "Open terminal" }).click();
    await expect(terminal.getByText("you type")).toBeVisible();
    await page.goBack();
    await row(page, "Dialog").click();
    await page.keyboard.press("e");
    await expect(terminal.getByText("you type")).toBeVisible();
    await expect(terminal.locator(".xterm-rows")).toContainText("Do you want to use this API key?");
    await page.keyboard.press("ArrowUp"); // No is chosen
    await expect(terminal.locator(".xterm-rows")).toContainText(/❯\s*(1\. )?Yes/);
    await page.keyboard.press("Enter");
    await expect(terminal.locator(".xterm-rows")).not.toContainText("Do you want to use this API key?");
    await terminal.getByRole("button", { name: "Release" }).click();
    await page.getByRole("link", { name: /^Needs you/ }).click();

    // A permission: the command, and what it is allowed or denied by.
    await row(page, "Permission").click();
    const command = painter.getByRole("group", { name: "What painter asks permission for" });
    await expect(command).toHaveText("cp /dev/null one");
    await look(page, "case-permission");
    await painter.getByRole("button", { name: "Allow" }).click();
    await page.getByRole("button", { name: /^Send now: painter/ }).click();
    await row(page, "Permission").click();
    await expect(command).toHaveText("cp /dev/null two");
    await page.keyboard.press("d"); // denies, and cancels nothing
    await page.getByRole("button", { name: /^Send now: painter/ }).click();
    await page.setViewportSize({ width: 360, height: 740 });
    await row(page, "Permission").click();
    await expect(command).toHaveText("cp /dev/null three");
    await painter.getByRole("button", { name: "Allow" }).click();
    await page.getByRole("button", { name: /^Send now: painter/ }).click();
    await expect.poll(() => org.cmux("agents", "status")).toMatch(/painter .*done/);
    expect(org.run("git", "ls-tree", "--name-only", "house/painter").split("\n")).toEqual(expect.arrayContaining(["one", "three"]));
    expect(org.run("git", "ls-tree", "--name-only", "house/painter")).not.toContain("two");
  } finally {
    model.kill();
  }
  expect(faults).toEqual([]);
});
