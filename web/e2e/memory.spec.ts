import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { faultsOf, look } from "./checks";
import { expect, test } from "./organization";
import { ask, begin, hostile, makeRoom } from "./rooms";

test.setTimeout(120_000);

test("notes are written, learned, found, pinned, changed, explained, moved and forgotten", async ({ org, page }) => {
  const faults = faultsOf(page);
  await begin(org, page);
  await page.getByRole("button", { name: "Notes" }).click();
  const dialog = page.getByRole("dialog", { name: "Notes" });
  await expect(dialog.getByText("There are no notes yet.")).toBeVisible();
  await look(page, "notes-none");

  // One that the person writes. What it says is text.
  await dialog.getByRole("button", { name: "Write a note…" }).click();
  await dialog.getByLabel("Text", { exact: true }).fill("x".repeat(301));
  await expect(dialog.getByText("This has 301 characters, and may have 300.")).toBeVisible();
  await expect(dialog.getByRole("button", { name: "Note it" })).toBeDisabled();
  await dialog.getByLabel("Text", { exact: true }).fill(`Sessions are kept in **SQLite**. ${hostile}`);
  await dialog.getByLabel("Files").fill("db/sessions.go");
  await look(page, "notes-write");
  await dialog.getByRole("button", { name: "Note it" }).click();
  const note = (id: string) => dialog.getByRole("listitem", { name: id, exact: true });
  await expect(note("n1").getByText("in **SQLite**.")).toBeVisible();
  await expect(note("n1").getByText("by you")).toBeVisible();
  await page.keyboard.press("Escape");

  // A room gets it, and is learned from when it is closed; the tokens are shown before.
  await makeRoom(page, "auth", { topic: "Where to keep sessions" });
  await page.getByRole("link", { name: "auth", exact: true }).click();
  await page.getByLabel("Message to auth").fill("Which database?");
  await page.getByLabel("Message to auth").press("Enter");
  const talk = page.getByRole("list", { name: "Talk in auth" });
  await expect(talk.getByRole("separator", { name: "Round 1 settled" })).toBeVisible();
  await talk.getByRole("button", { name: "Show the prompt of turn t1" }).click();
  await expect(page.getByRole("group", { name: "Prompt" })).toContainText("> n1: Sessions are kept in **SQLite**.");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Notes" }).click();
  await expect(page).toHaveURL(/\/rooms\/auth\?notes=/);
  const due = dialog.getByRole("list", { name: "Rooms to learn from" });
  await expect(due.getByText("nobody has learned from them. No program is asked.")).toBeVisible();
  await look(page, "notes-due");
  await due.getByRole("button", { name: "Learn from it" }).click();
  await expect(due).toHaveCount(0);
  await expect(dialog.getByText("The room auth (Where to keep sessions): 2 members, 1 round")).toBeVisible();
  await expect(note("n1").getByText("given to 2 turns")).toBeVisible();
  await note("n1").getByRole("button", { name: "Why" }).click();
  await expect(dialog.getByRole("group", { name: "Why n1" }).getByText("You have written it.")).toBeVisible();
  await expect(dialog.getByRole("list", { name: "Turns that got n1" }).getByRole("listitem")).toHaveCount(2);
  const last = note("n4"); // the newest
  await last.getByRole("button", { name: "Why" }).click();
  await expect(last.getByText("It comes from")).toBeVisible();
  await expect(last.getByText("Which database?")).toBeVisible();
  await look(page, "notes");

  // Found by words, pinned, changed.
  await dialog.getByLabel("Search notes").fill("sqlite sess");
  await expect(dialog.getByRole("list", { name: "Notes", exact: true }).locator(":scope > li")).toHaveCount(1);
  await note("n1").getByRole("button", { name: "Pin" }).click();
  await expect(note("n1").getByText("pinned")).toBeVisible();
  await note("n1").getByRole("button", { name: "Edit" }).click();
  await dialog.getByLabel("Text", { exact: true }).fill("Sessions live in SQLite.");
  await dialog.getByRole("button", { name: "Change it" }).click();
  await expect(note("n1").getByText("Sessions live in SQLite.")).toBeVisible();
  await dialog.getByLabel("Search notes").fill("nothing like it");
  await expect(dialog.getByText("No note has these words.")).toBeVisible();
  await dialog.getByLabel("Search notes").fill("");

  // Its link opens it. It moves into MEMORY.md, and is a note no more; another is forgotten.
  await page.goto(new URL("/rooms?notes=n1", page.url()).href);
  await expect(dialog.getByRole("group", { name: "Why n1" })).toBeVisible();
  await note("n1").getByRole("button", { name: "Move to MEMORY.md" }).click();
  await expect(note("n1")).toHaveCount(0);
  expect(org.read("MEMORY.md")).toContain("- Sessions live in SQLite.\n");
  await note("n2").getByRole("button", { name: "Forget…" }).click();
  await dialog.getByRole("checkbox", { name: "Take its text out of the file, too" }).check();
  await look(page, "notes-forget");
  await dialog.getByRole("button", { name: "Forget it" }).click();
  await expect(note("n2")).toHaveCount(0);
  expect(org.read(".cmux/memory.jsonl")).not.toContain("as ann in the room");

  // The search of the page finds what is left.
  await ask(page, "/api/memory/notes", { text: "The zebra is striped.", kind: "project" });
  const found = () => page.evaluate(async () => ((await (await fetch("/api/search?q=zebra")).json()) as { items: unknown[] }).items.length);
  await expect.poll(found).toBe(1); // the index follows the file
  await org.open(page, "/explorer");
  await page.getByRole("button", { name: "Search" }).first().click();
  await page.getByLabel("Words").fill("zebra");
  await page.getByLabel("Words").press("Enter");
  await page.getByRole("link", { name: /^n\d+$/ }).click();
  await expect(dialog.getByText("The zebra is striped.")).toBeVisible();
  expect(await page.evaluate(() => "hurt" in window)).toBe(false);
  expect(faults).toEqual([]);
});

test("a program learns from a room when the person orders it, after its tokens were shown", async ({ org, page }) => {
  const program = join(org.dir, "programs");
  mkdirSync(program);
  const answer = { is_error: false, usage: { input_tokens: 70, output_tokens: 30 }, structured_output: { notes: [{ text: "Sessions are in SQLite.", kind: "decision", messages: [4] }] } };
  writeFileSync(join(program, "claude"), `#!/bin/sh\ncat > ${join(org.dir, "asked")}\ncat <<'END'\n${JSON.stringify(answer)}\nEND\n`, { mode: 0o755 });
  org.env.PATH = `${program}:${org.env.PATH ?? ""}`;
  await begin(org, page);
  await makeRoom(page, "auth", { topic: "Where to keep sessions" });
  await page.getByRole("link", { name: "auth", exact: true }).click();
  await page.getByLabel("Message to auth").fill("Which database?");
  await page.getByLabel("Message to auth").press("Enter");
  await expect(page.getByRole("separator", { name: "Round 1 settled" })).toBeVisible();
  await page.getByRole("button", { name: "Notes" }).click();
  const dialog = page.getByRole("dialog", { name: "Notes" });
  await expect(dialog.getByRole("button", { name: "Only count" })).toBeVisible();
  await look(page, "notes-tokens");
  await expect(dialog.getByText(/It takes claude haiku about [\d.]+k tokens\.$/)).toBeVisible();
  await dialog.getByRole("button", { name: "Learn from it" }).click();
  await expect(dialog.getByText("Sessions are in SQLite.")).toBeVisible();
  await expect(dialog.getByText("by claude")).toBeVisible();
  await expect(page.getByRole("region", { name: "Notices" }).getByText("1 new note from auth.")).toBeVisible();
  expect(readFileSync(join(org.dir, "asked"), "utf8")).toContain("> Which database?");
  await expect(dialog.getByRole("list", { name: "Rooms to learn from" })).toHaveCount(0);
});
