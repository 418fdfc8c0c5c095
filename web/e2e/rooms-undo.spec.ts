import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { faultsOf, look } from "./checks";
import { expect, test } from "./organization";
import { ask, begin, makeRoom } from "./rooms";

test.setTimeout(300_000);

test("what a member changes at the root is undone from the page, or it was the person", async ({ org, page }) => {
  const faults = faultsOf(page);
  await begin(org, page);
  await makeRoom(page, "writes");
  await page.goto(new URL("/rooms/writes", page.url()).href);
  const stolen = join(org.root, "stolen.txt");
  const waits = page.getByRole("region", { name: "What waits for you" });

  await ask(page, "/api/rooms/writes/messages", { text: "Write there", to: "ann" });
  await expect(waits.getByText(/^ann \(or you\) changed stolen\.txt$/)).toBeVisible();
  await look(page, "room-changed");
  await waits.getByRole("button", { name: "Undo the change" }).click();
  const dialog = page.getByRole("dialog", { name: "Undo the change?" });
  await look(page, "room-undo"); // another width has other columns, so it closes the dialog
  await waits.getByRole("button", { name: "Undo the change" }).click();
  await dialog.getByRole("button", { name: "Undo", exact: true }).click();
  await expect(waits).toHaveCount(0);
  expect(existsSync(stolen)).toBe(false);

  // What has changed since is not touched, and the page says so.
  await ask(page, "/api/rooms/writes/messages", { text: "Write there", to: "ann" });
  await expect(waits).toBeVisible();
  writeFileSync(stolen, "mine\n");
  await waits.getByRole("button", { name: "Undo the change" }).click();
  await dialog.getByRole("button", { name: "Undo", exact: true }).click();
  await expect(page.getByText(/nothing was undone/)).toBeVisible();
  expect(org.read("stolen.txt")).toBe("mine\n");
  await waits.getByRole("button", { name: "It was me" }).click();
  await expect(waits).toHaveCount(0);
  expect(org.read("stolen.txt")).toBe("mine\n");
  expect(faults).toEqual([]);
});
