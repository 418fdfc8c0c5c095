import { faultsOf, look } from "./checks";
import { expect, idle, test } from "./organization";

test("the organization's configuration is written, started with, mended, and applied from the page alone", async ({ org, page }) => {
  test.setTimeout(120_000);
  const faults = faultsOf(page);
  org.write({ "go.mod": "module shop\n", ".cmux/roles/supervisor.md": idle });
  org.run("git", "add", "go.mod");
  org.run("git", "commit", "-qm", "A module");
  await page.goto(org.cmux("agents", "open", "--print").trim().split("\n").at(-1) ?? "");
  await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
  const settings = page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Settings" });
  const file = page.getByRole("region", { name: "Configuration file", exact: true });
  const text = file.getByRole("textbox", { name: "Text of .cmux/config.yml" });
  const state = file.getByRole("status").filter({ hasText: ".cmux/config.yml" });
  const check = file.getByRole("group", { name: "Check" });
  const save = file.getByRole("button", { name: "Save" });
  const changes = page.getByRole("region", { name: "What the file changes" });
  const saved = () => org.read(".cmux/config.yml");

  // There is no file yet, and no organization: a comment, and the keys are offered.
  await settings.click();
  await expect(state).toHaveText(".cmux/config.yml, not written yet");
  await expect(changes).toContainText("There is no organization yet.");
  await expect(text).toContainText("# The organization's configuration.");
  await text.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("supervi");
  await page.getByRole("option", { name: /^supervisor/ }).click();
  await page.keyboard.insertText("{agnt: scripted}\n");

  // A fault is shown where it is, and refused.
  await expect(check.getByRole("status")).toHaveText("1 error");
  await expect(check).toContainText('unknown key "agnt" in supervisor (did you mean "agent"?)');
  await expect(file.locator(".cm-line").filter({ has: page.locator(".cm-lintRange-error") })).toContainText("agnt");
  await look(page, "settings-file-fault");
  await expect(save).toBeDisabled();
  await page.keyboard.press("Control+s");
  await expect(page.getByText(/nothing was written: .cmux\/config.yml:2:14: unknown key "agnt"/)).toBeVisible();
  await check.getByRole("button", { name: ".cmux/config.yml:2:14" }).click();
  await expect(text).toBeFocused();
  for (let i = 0; i < "agnt".length; i++) {
    await page.keyboard.press("Delete");
  }
  await page.keyboard.insertText("agent");
  await expect(check.getByRole("status")).toHaveText("Nothing is wrong");
  await page.keyboard.press("Control+s");
  await expect(state).toHaveText(".cmux/config.yml, saved");
  expect(saved()).toMatch(/^# .*\nsupervisor: \{agent: scripted\}\n$/);

  // The first start proposes a check, which is wrong: the module has no packages.
  await changes.getByRole("button", { name: "Start the organization" }).click();
  const dialog = page.getByRole("dialog", { name: "Start the organization" });
  await expect(dialog.getByLabel("Check")).toHaveValue("go test ./...");
  await dialog.getByRole("button", { name: "Start the organization" }).click();
  await expect(page).toHaveURL(/\/chat$/);
  await settings.click();
  const active = page.getByRole("row", { name: /^verify/ });
  await expect(active).toContainText('["go test ./..."]');
  await expect(text).toContainText('verify: ["go test ./..."]'); // the start wrote it
  await expect(state).toHaveText(".cmux/config.yml, saved");

  // Somebody else writes the file while it is edited: the person decides.
  await text.getByText("verify", { exact: false }).last().click();
  await page.keyboard.press("End");
  await page.keyboard.press("Shift+Home");
  await page.keyboard.press("Backspace");
  await page.keyboard.insertText("verify: [make]");
  await expect(state).toHaveText(".cmux/config.yml, not saved");
  const theirs = `${saved()}max_standing: 3\n`;
  org.write({ ".cmux/config.yml": theirs });
  await expect(file.getByRole("alert")).toContainText("The file says something else by now.");
  await expect(save).toBeDisabled();
  expect(saved()).toBe(theirs);
  await file.getByRole("button", { name: "Take the file's text" }).click();
  await expect(text).toContainText("max_standing: 3");

  // The check is mended. What is saved counts once it is applied.
  await text.getByText("verify", { exact: false }).last().click();
  await page.keyboard.press("End");
  await page.keyboard.press("Shift+Home");
  await page.keyboard.press("Backspace");
  await page.keyboard.insertText("verify: [make]");
  await save.click();
  await expect(state).toHaveText(".cmux/config.yml, saved");
  expect(saved()).toBe(theirs.replace('verify: ["go test ./..."]', "verify: [make]"));
  await expect(changes.getByRole("listitem")).toHaveText([/^max_standing: nothing\s*3$/, /^verify: \["go test \.\/\.\.\."\]\s*\["make"\]$/]);
  await expect(active).toContainText('["go test ./..."]');
  await look(page, "settings-file");
  await changes.getByRole("button", { name: "Apply" }).click();
  await page.getByRole("dialog", { name: "Apply 2 changes?" }).getByRole("button", { name: "Apply" }).click();
  await expect(changes).toContainText("The active configuration is what the file says.");
  await expect(active).toContainText('["make"]');
  expect(org.cmux("config")).toContain('verify: ["make"]');
  expect(faults.filter((f) => !f.includes("ERR_CONNECTION_REFUSED"))).toEqual([]); // the server changes as the organization starts
});
