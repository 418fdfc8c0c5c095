import { healthy } from "./checks";
import { expect, test } from "./organization";

test("the page is live, says what needs a person, and asks nothing of others", async ({ org, page }) => {
  org.start();
  const foreign: string[] = [];
  const faults: string[] = [];
  page.on("request", (r) => {
    if (!/^(http|ws):\/\/cmux-[^/]+\.localhost:/.test(r.url()) && !r.url().startsWith("data:")) {
      foreign.push(r.url());
    }
  });
  page.on("console", (m) => m.type() === "error" && faults.push(m.text()));
  await org.open(page);
  await expect(page.getByRole("heading", { name: "Needs you" })).toBeVisible();

  org.cmux("mailbox", "send", "user", "[QUESTION] which color?", "Blue or green?");
  await expect(page.getByRole("link", { name: "Message [QUESTION] which color?" })).toBeVisible();
  await expect(page.getByText("Blue or green?")).toBeVisible();
  await expect(page).toHaveTitle("(1) Needs you · cmux");

  await healthy(page, "needs");
  expect(foreign).toEqual([]);
  expect(faults).toEqual([]);
});

test("a second page shares the connection, and takes it over", async ({ org, page, context }) => {
  org.start();
  const sockets: string[] = [];
  context.on("page", (p) => p.on("websocket", (s) => sockets.push(s.url())));
  const second = await context.newPage();
  await org.open(second);
  expect(sockets).toHaveLength(1);
  await page.goto(new URL("/", second.url()).href);
  await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
  org.cmux("mailbox", "send", "user", "the first", "text");
  await expect(page.getByRole("link", { name: "Message the first" })).toBeVisible();
  await expect(second.getByRole("link", { name: "Message the first" })).toBeVisible();
  await second.close();
  org.cmux("mailbox", "send", "user", "the second", "text");
  await expect(page.getByRole("link", { name: "Message the second" })).toBeVisible();
});

test("the server goes away and comes back", async ({ org, page }) => {
  org.start();
  await org.open(page);
  const { pid } = JSON.parse(org.read(".cmux/server.json")) as { pid: number };
  // Its monitor starts it again within a second: what was seen meanwhile is kept.
  await page.evaluate(() => {
    const seen: string[] = [];
    Object.assign(window, { seen });
    new MutationObserver(() => seen.push(document.querySelector("footer [role=status]")?.textContent ?? "")).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  process.kill(pid, "SIGKILL");
  await page.getByRole("link", { name: "Explorer" }).click(); // its code has not come yet
  org.cmux("mailbox", "send", "user", "while it was away", "text");
  await expect.poll(() => page.evaluate(() => (window as unknown as { seen: string[] }).seen.some((t) => t.startsWith("Offline")))).toBe(true);
  await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
  await expect(page.getByRole("heading", { name: "Explorer" })).toBeVisible();
  await page.getByRole("link", { name: /^Needs you/ }).click();
  await expect(page.getByRole("link", { name: "Message while it was away" })).toBeVisible();
  await expect(page.getByRole("link", { name: /Organization/ })).toBeVisible(); // what comes last came too
});

test("a server that stands still is told on the page, and since when what is seen is old", async ({ org, page }) => {
  org.start();
  await org.open(page);
  const { pid } = JSON.parse(org.read(".cmux/server.json")) as { pid: number };
  process.kill(pid, "SIGSTOP");
  const away = page.getByRole("alert").filter({ hasText: "The server does not answer" });
  try {
    await expect(away).toContainText(/What you see is from \d\d:\d\d/);
    await healthy(page, "away");
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
  await expect(away).toHaveCount(0);
});

test("who was logged out is told so, and how to come back", async ({ org, page, context }) => {
  org.start();
  await org.open(page);
  await context.clearCookies();
  process.kill((JSON.parse(org.read(".cmux/server.json")) as { pid: number }).pid, "SIGKILL"); // what is connected stays so
  const told = page.getByRole("alert").filter({ hasText: "You are logged out here" });
  await expect(told).toContainText("cmux open");
  await healthy(page, "logged out");
  await org.open(page);
  await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
  await expect(told).toHaveCount(0);
});
