import { faultsOf, look } from "./checks";
import { expect, test } from "./organization";
import { ask, begin, makeRoom } from "./rooms";

test.setTimeout(300_000);

test("what holds a room up waits in the inbox, and is decided there", async ({ org, page }) => {
  const faults = faultsOf(page);
  await begin(org, page);
  await makeRoom(page, "short", { turns: 1 });
  await makeRoom(page, "still");
  await makeRoom(page, "asks");
  await ask(page, "/api/rooms/short/messages", { text: "Which database?" });
  await ask(page, "/api/rooms/still/orders", { do: "pause" });
  await page.getByRole("link", { name: /^Needs you/ }).click();
  const list = page.getByRole("list", { name: "What waits for you" });
  const rows = list.getByRole("listitem");
  const of = (name: string) => list.getByRole("link", { name, exact: true });
  await of("Room short").click();
  await expect(rows).toHaveCount(1); // a room that is paused without messages needs nobody
  const found = page.locator("[data-case]");
  await expect(found.getByText("round 1 has ended with messages left: turns are used up")).toBeVisible();
  await expect(found.getByRole("list", { name: "Members" }).getByRole("listitem")).toHaveCount(2);
  await look(page, "needs-room");

  // The round continues as the person says, and the room comes to rest.
  await found.getByRole("button", { name: "Continue the round" }).click();
  await page.getByRole("button", { name: "Send now" }).click();
  await expect(page.getByText("Nothing needs you")).toBeVisible();

  // A message into a paused room waits until it is resumed.
  await ask(page, "/api/rooms/still/messages", { text: "Which database?" });
  await of("Room still").click();
  await found.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Send now" }).click();
  await expect(page.getByText("Nothing needs you")).toBeVisible();

  // What a member asks is one entry, which leads to its room.
  await ask(page, "/api/rooms/asks/messages", { text: "Ask me", to: "ann" });
  await of("Question asks.ann").click();
  await expect(rows).toHaveCount(1);
  await look(page, "needs-room-asks");
  await found.getByRole("button", { name: /^never/ }).click();
  await page.getByRole("button", { name: "Send now" }).click();
  await expect(page.getByText("Nothing needs you")).toBeVisible();

  // A turn that works for long is given more time, or stopped.
  await makeRoom(page, "long", { timeouts: { parse: 1 } });
  await ask(page, "/api/rooms/long/messages", { text: "Take a rest", to: "bob" });
  await of("Room bob in long").click({ timeout: 30_000 });
  await expect(found.getByText(/^bob has worked for /)).toBeVisible();
  await look(page, "needs-room-long");
  await page.keyboard.press("d");
  await page.getByRole("button", { name: "Send now" }).click();
  await expect(page.getByText("Nothing needs you")).toBeVisible();
  await page.goto(new URL("/rooms/long", page.url()).href);
  await expect(page.getByText("bob's turn was stopped")).toBeVisible();
  expect(faults).toEqual([]);
});
