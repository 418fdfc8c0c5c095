import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { faultsOf, look } from "./checks";
import { expect, test } from "./organization";
import { ask, begin, makeRoom } from "./rooms";

test.setTimeout(300_000);

test("rooms are found, reopened and removed from the list", async ({ org, page }) => {
  const faults = faultsOf(page);
  await begin(org, page);
  await makeRoom(page, "auth", { topic: "Where sessions are kept" });
  await makeRoom(page, "build");
  await ask(page, "/api/rooms/build/messages", { text: "Say hello to the pipeline" });
  const rooms = page.getByRole("list", { name: "Rooms" });
  const find = page.getByLabel("Find a room");
  const said = page.getByRole("status").filter({ hasText: "room" });
  await expect(rooms.getByRole("listitem")).toHaveCount(2);
  await expect(said).toHaveText("2 rooms");

  // By topic, member, and last words; what is found is said.
  await find.fill("SESSIONS ann");
  await expect(rooms.getByRole("listitem")).toHaveCount(1);
  await expect(rooms.getByRole("link", { name: "auth" })).toBeVisible();
  await expect(said).toHaveText("1 of 2 rooms matches");
  await find.fill("hello");
  await expect(rooms.getByRole("link", { name: "build" })).toBeVisible();
  await find.fill("sessions hello");
  await expect(page.getByText("No room matches")).toBeVisible();
  await expect(said).toHaveText("0 of 2 rooms match");
  await look(page, "rooms-none-found");
  await page.getByRole("button", { name: "Show all rooms" }).click();
  await expect(rooms.getByRole("listitem")).toHaveCount(2);

  // What is closed is reopened where it is listed.
  await ask(page, "/api/rooms/auth/orders", { do: "close" });
  const auth = rooms.getByRole("listitem").filter({ has: page.getByRole("link", { name: "auth", exact: true }) });
  await expect(auth.getByText("closed")).toBeVisible();
  await page.getByRole("button", { name: "Actions for auth" }).click();
  await page.getByRole("menuitem", { name: "Reopen room" }).click();
  await expect(page.getByRole("heading", { name: "auth", level: 1 })).toBeVisible();
  await expect(page.getByLabel("Message to auth")).toBeEnabled();
  await page.getByRole("link", { name: "All rooms" }).click();

  // A removal says what it does; it can be left, and it is done once.
  await page.getByRole("button", { name: "Actions for build" }).click();
  await page.getByRole("menuitem", { name: "Remove room…" }).click();
  const asked = page.getByRole("dialog", { name: "Remove build?" });
  await expect(asked.getByText("cannot be reopened")).toBeVisible();
  await look(page, "rooms-remove");
  await asked.getByRole("button", { name: "Go back" }).click();
  await expect(rooms.getByRole("listitem")).toHaveCount(2);
  await page.getByRole("button", { name: "Actions for build" }).click();
  await page.getByRole("menuitem", { name: "Remove room…" }).click();
  await asked.getByRole("button", { name: "Remove room" }).click();
  await expect(page.getByText(/^build is removed\. What was said is in /)).toBeVisible();
  await expect(rooms.getByRole("listitem")).toHaveCount(1);
  expect(existsSync(join(org.root, ".cmux", "rooms", "build"))).toBe(false);

  // From the room's own page, too.
  await page.getByRole("link", { name: "auth", exact: true }).click();
  await page.getByRole("button", { name: "More orders" }).click();
  await page.getByRole("menuitem", { name: "Remove the room…" }).click();
  await page.getByRole("dialog", { name: "Remove auth?" }).getByRole("button", { name: "Remove room" }).click();
  await expect(page.getByText("There is no room yet")).toBeVisible();
  expect(readdirSync(join(org.root, ".cmux", "archives", "rooms")).map((name) => name.slice(0, 5)).sort()).toEqual(["auth-", "build"]);
  expect(faults).toEqual([]);
});
