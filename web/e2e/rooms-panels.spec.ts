import { readFile } from "node:fs/promises";

import { faultsOf, look } from "./checks";
import { expect, test } from "./organization";
import { begin, makeRoom } from "./rooms";

test.setTimeout(300_000);

test("members and guests are invited and dismissed, and settings changed, from the page", async ({ org, page }) => {
  const faults = faultsOf(page);
  await begin(org, page);
  await makeRoom(page, "panels");
  await page.goto(new URL("/rooms/panels", page.url()).href);
  const members = page.getByRole("list", { name: "Members" });
  const talk = page.getByRole("list", { name: "Talk in panels" });
  const of = (name: string) => members.getByRole("listitem").filter({ hasText: name });
  await expect(members.getByRole("listitem")).toHaveCount(2);

  // A member joins. Its name is free, or the page says so before anything is sent.
  await page.getByRole("button", { name: "Invite somebody" }).click();
  const invite = page.getByRole("dialog", { name: "Invite into panels" });
  await invite.getByLabel("Kind").fill("scripted");
  await invite.getByLabel("Name").fill("ANN");
  await expect(invite.getByText("ANN is in the room already: give it another name.")).toBeVisible();
  await expect(invite.getByRole("button", { name: "Invite", exact: true })).toBeDisabled();
  await invite.getByLabel("Name").fill("carl");
  await invite.getByLabel("Role").fill("ann");
  await look(page, "room-invite");
  await invite.getByLabel("Role").press("Enter");
  await expect(invite).toHaveCount(0);
  await expect(of("carl")).toBeVisible();

  // An agent of the organization joins as a guest.
  await page.getByRole("button", { name: "Invite somebody" }).click();
  await invite.getByRole("radio", { name: "A guest" }).check();
  await expect(invite.getByLabel("Agent")).toHaveValue("supervisor");
  await look(page, "room-invite-guest");
  await invite.getByRole("button", { name: "Invite", exact: true }).click();
  await expect(of("supervisor").getByText("guest")).toBeVisible();
  await page.getByRole("button", { name: "Invite somebody" }).click();
  await invite.getByRole("radio", { name: "A guest" }).check();
  await expect(invite.getByText("Each agent of the organization is a guest already.")).toBeVisible();
  await page.keyboard.press("Escape");

  // Whoever is dismissed in its turn is interrupted, and the person is told so before.
  await page.getByLabel("To", { exact: true }).selectOption("carl");
  await page.getByLabel("Message to panels").fill("Take a rest");
  await page.getByLabel("Message to panels").press("Enter");
  await expect(of("carl").getByText("in turn")).toBeVisible();
  await expect(talk.getByText(/carl \(scripted, ann\).* joined/)).toBeVisible();
  await page.getByRole("button", { name: "Dismiss carl" }).click();
  const asked = page.getByRole("dialog", { name: "Dismiss carl?" });
  await expect(asked.getByText("Its turn is interrupted.")).toBeVisible();
  await look(page, "room-dismiss");
  await asked.getByRole("button", { name: "Cancel" }).click();
  await expect(of("carl")).toBeVisible();
  await page.getByRole("button", { name: "Dismiss carl" }).click();
  await asked.getByRole("button", { name: "Dismiss", exact: true }).click();
  await expect(of("carl")).toHaveCount(0);
  await expect(talk.getByText("carl left: dismissed")).toBeVisible();

  // What differs from the defaults is marked; what is no number is not sent.
  await page.getByRole("button", { name: "More orders" }).click();
  await page.getByRole("menuitem", { name: "Settings…" }).click();
  const settings = page.getByRole("dialog", { name: "Settings of panels" });
  const save = settings.getByRole("button", { name: "Save" });
  await expect(save).toBeDisabled(); // nothing is changed
  await expect(settings.getByText("Built in")).not.toHaveCount(0); // nothing is the room's own
  await expect(settings.getByText("Set for this room.")).toHaveCount(0);
  await settings.getByLabel("Turns in a round", { exact: true }).fill("none");
  await settings.getByLabel("Tokens of a round", { exact: true }).fill("200k");
  await expect(settings.getByText("This must be a whole number, at least 1.")).toBeVisible();
  await expect(save).toBeDisabled();
  await settings.getByLabel("Turns in a round", { exact: true }).fill("2");
  await expect(settings.getByText("Set for this room. Inherited: 3 (built in)")).toBeVisible();
  await settings.getByLabel("Policy", { exact: true }).selectOption("moderator");
  await expect(save).toBeDisabled();
  await settings.getByLabel("Moderator", { exact: true }).selectOption("bob");
  await settings.getByLabel("Topic", { exact: true }).fill("Where sessions are kept");
  await look(page, "room-settings");
  await save.click();
  await expect(settings).toHaveCount(0);
  await expect(page.getByText("moderator", { exact: true })).toBeVisible();
  await expect(talk.getByText("The settings changed")).toBeVisible();
  await page.goto(new URL("/rooms/panels?settings", page.url()).href);
  await expect(settings.getByLabel("Tokens of a round", { exact: true })).toHaveValue("200k");
  await settings.getByRole("button", { name: "Policy: use the inherited value" }).click();
  await settings.getByRole("button", { name: "Turns in a round: use the inherited value" }).click();
  await save.click();
  await expect(settings).toHaveCount(0);
  await expect(page.getByText("everybody", { exact: true })).toBeVisible();

  // Who has read how far stands in the talk.
  await page.getByLabel("Message to panels").fill("Which database?");
  await page.getByLabel("Message to panels").press("Enter");
  await expect(talk.getByRole("separator", { name: /^Round [12] settled$/ }).last()).toBeVisible(); // the message to carl may be in the same round
  for (const name of ["ann", "bob"]) { // at which message, depends on whose turn ends first
    await expect(talk.getByText(new RegExp(`^Read by (\\w+ and )?${name}( and \\w+)?$`))).toHaveCount(1);
  }
  await look(page, "room-read");

  // The room is saved as the command line writes it.
  for (const [label, name, says] of [["Export as Markdown", "panels.md", /^# Room panels\n\n> Where sessions are kept\n[^]*> \*\*SQLite\.\*\* &lt;img src=x/], ["Export as JSON", "panels.jsonl", /^\{.*"kind":"opened".*\}\n\{/]] as const) {
    await page.getByRole("button", { name: "More orders" }).click();
    const download = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: label }).click();
    const file = await download;
    expect(file.suggestedFilename()).toBe(name);
    expect(await readFile(await file.path(), "utf8")).toMatch(says);
  }
  expect(faults).toEqual([]);
});
