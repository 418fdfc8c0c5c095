import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";

import { faultsOf, look } from "./checks";
import { expect, test } from "./organization";
import { begin, hostile, makeRoom, member } from "./rooms";

test.setTimeout(300_000);

test("a persona is made, tried, edited beside somebody else, and removed", async ({ org, page }) => {
  const faults = faultsOf(page);
  await begin(org, page);
  await page.getByRole("link", { name: "Personas" }).click();
  const list = page.getByRole("list", { name: "Personas" });
  const file = join(org.root, ".cmux", "roles", "critic.md");
  await expect(list.getByRole("listitem", { name: "ann" })).toBeVisible();
  await look(page, "personas");

  // Its name is free, or the page says so before anything is sent.
  await page.getByRole("button", { name: "Make a persona" }).click();
  const made = page.getByRole("dialog", { name: "Make a persona" });
  await made.getByLabel("Name").fill("ann");
  await expect(made.getByText("There is a persona ann already")).toBeVisible();
  await made.getByLabel("Name").fill("../x");
  await expect(made.getByText("A name has letters")).toBeVisible();
  await made.getByLabel("Name").fill("critic");
  await made.getByLabel("Kind").fill("nothing");
  await made.getByLabel("What an agent").fill(member);
  await made.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("region", { name: "Notices" }).getByText('there is no kind of agent "nothing"')).toBeVisible();
  await made.getByLabel("Kind").fill("scripted");
  await made.getByLabel("Model").fill("large");
  await look(page, "persona-new");
  await page.keyboard.press("Escape"); // what was typed is there again
  await page.getByRole("button", { name: "Make a persona" }).click();
  await expect(made.getByLabel("Model")).toHaveValue("large");
  await made.getByLabel("Name").fill("critic");
  let answer = (): void => undefined;
  const late = new Promise<void>((resolve) => (answer = resolve));
  await page.route("**/api/personas?**", async (route) => {
    await late; // the list comes late: what was saved is there all the same
    await route.continue();
  });
  await made.getByRole("button", { name: "Save", exact: true }).click();
  const edited = page.getByRole("dialog", { name: "Persona critic" });
  await expect(edited.getByLabel("Kind")).toHaveValue("scripted");
  answer();
  expect(readFileSync(file, "utf8")).toBe(`---\nkind: scripted\nmodel: large\n---\n${member}`);

  // Somebody else changes the file: both are seen, and nothing is lost.
  await edited.getByLabel("What an agent").fill(`${member}# mine\n`);
  org.write({ ".cmux/roles/critic.md": `---\nkind: scripted\n---\n${member}# theirs ${hostile}\n` });
  await expect(edited.getByRole("alert")).toContainText("Nothing of yours was written over it.");
  await expect(edited.getByRole("button", { name: "Save", exact: true })).toBeDisabled();
  await edited.getByText("What the file says now").click();
  await expect(edited.locator("pre")).toContainText("# theirs");
  await look(page, "persona-conflict");
  await edited.getByRole("button", { name: "Write mine over it" }).click();
  await expect(edited.getByRole("alert")).toHaveCount(0);
  await expect.poll(() => readFileSync(file, "utf8")).toContain("# mine");
  await page.keyboard.press("Escape");

  // It says what a try costs, and asks.
  await page.getByRole("button", { name: "Try critic" }).click();
  const tried = page.getByRole("dialog", { name: "Try critic" });
  await tried.getByLabel("Question").fill("Say hello");
  await expect(tried.getByText(/^One turn of scripted \(large\): about .* tokens, and what it reads\. Room: try-critic\.$/)).toBeVisible();
  await look(page, "persona-try");
  await tried.getByRole("button", { name: "Ask" }).click();
  await expect(page.getByRole("heading", { name: "try-critic", level: 1 })).toBeVisible();
  await expect(page.getByRole("list", { name: "Talk in try-critic" }).getByText("Hello to you alone.")).toBeVisible();

  // In use it stays; then it goes.
  await page.getByRole("link", { name: "All rooms" }).click();
  await page.getByRole("link", { name: "Personas" }).click();
  await expect(list.getByRole("listitem", { name: "critic" }).getByText("Used by try-critic.critic")).toBeVisible();
  await page.getByRole("button", { name: "Edit critic" }).click();
  await expect(edited.getByText("try-critic.critic uses it: dismiss or remove it first.")).toBeVisible();
  await look(page, "persona-used");
  org.cmux("rooms", "close", "try-critic");
  await page.reload();
  await page.getByRole("button", { name: "Edit critic" }).click();
  await edited.getByRole("button", { name: "Remove…" }).click();
  await page.getByRole("dialog", { name: "Remove critic?" }).getByRole("button", { name: "Remove persona" }).click();
  await expect(list.getByRole("listitem", { name: "critic" })).toHaveCount(0);
  await expect.poll(() => existsSync(file)).toBe(false);
  expect(await page.evaluate(() => "hurt" in window)).toBe(false);
  expect(faults).toEqual([]);
});

test("a room works in a folder of the project, and no other can be chosen", async ({ org, page }) => {
  const faults = faultsOf(page);
  await begin(org, page);
  mkdirSync(join(org.root, "services", "api"), { recursive: true });
  symlinkSync("/etc", join(org.root, "outside"));
  await page.getByRole("button", { name: "Begin a room" }).click();
  const dialog = page.getByRole("dialog", { name: "Begin a room" });
  const folders = dialog.getByRole("group", { name: "Folder" });
  await expect(folders.getByText("The project's root")).toBeVisible();
  await folders.getByRole("button", { name: "Choose a folder…" }).click();
  const listed = folders.getByRole("list");
  await expect(listed.getByRole("button", { name: "services" })).toBeVisible();
  for (const name of [".git", ".cmux", "outside"]) {
    await expect(listed.getByRole("button", { name, exact: true })).toHaveCount(0);
  }
  await look(page, "rooms-folder");
  await listed.getByRole("button", { name: "services" }).click();
  await listed.getByRole("button", { name: "api" }).click();
  await expect(listed.getByText("There is no folder here")).toBeVisible();
  await folders.getByRole("button", { name: "Up" }).click();
  await listed.getByRole("button", { name: "api" }).click();
  await folders.getByRole("button", { name: "Use this folder" }).click();
  await expect(folders.getByText("services/api")).toBeVisible();
  await dialog.getByLabel("Name", { exact: true }).fill("deep");
  await dialog.getByLabel("Role of member 1").fill("ann");
  await dialog.getByLabel("Kind of member 1").fill("scripted");
  for (let i = await dialog.getByRole("button", { name: /^Leave member/ }).count(); i > 1; i--) {
    await dialog.getByRole("button", { name: `Leave member ${i} out` }).click();
  }
  await dialog.getByRole("button", { name: "Begin", exact: true }).click();
  await expect(page.getByRole("heading", { name: "deep", level: 1 })).toBeVisible();
  expect(org.cmux("rooms", "show", "deep", "--json")).toContain('"dir": "services/api"');

  // What the page does not offer, the server refuses, to whoever asks.
  const refused = (dir: string) => page.evaluate(async (dir) => (await fetch("/api/rooms", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ members: ["scripted=ann:ann"], settings: { dir } }) })).status, dir);
  for (const dir of ["outside", "..", "/etc", ".cmux", ".git"]) {
    expect(await refused(dir)).toBe(400);
  }
  expect(await page.evaluate(async () => (await fetch("/api/filesystem?path=outside")).status)).toBe(404);
  await makeRoom(page, "root");
  expect(faults).toEqual([]);
});
