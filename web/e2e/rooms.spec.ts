import { faultsOf, look } from "./checks";
import { expect, test } from "./organization";
import { begin, beginRoom, hostile } from "./rooms";

test.setTimeout(300_000);

test("a room is begun, talks, is told to stop, pauses and closes, from the page alone", async ({ org, page }) => {
  const faults = faultsOf(page);
  await begin(org, page);
  await expect(page.getByText("There is no room yet")).toBeVisible();
  await look(page, "rooms-none");
  await beginRoom(page, "auth");
  const talk = page.getByRole("list", { name: "Talk in auth" });
  const input = page.getByLabel("Message to auth");
  const members = page.getByRole("list", { name: "Members" });
  const of = (name: string) => members.getByRole("listitem").filter({ has: page.getByRole("link", { name, exact: true }) });

  await expect(page.getByText("Nothing was said yet")).toBeVisible();
  await look(page, "room-new");

  // Both answer without the other's answer, react, and the round settles.
  await input.fill(`Which database? ${hostile}`);
  await expect(page.getByText(/^Wakes ann, bob: about .* tokens$/)).toBeVisible();
  await page.reload(); // what is typed outlives it
  await expect(input).toHaveValue(`Which database? ${hostile}`);
  await input.click();
  await input.press("Enter");
  await expect(input).toHaveValue("");
  const first = talk.getByRole("group", { name: /^First answers to/ });
  await expect(first.getByRole("article")).toHaveCount(2);
  await expect(first.getByText("SQLite.")).toBeVisible();
  await expect(first.getByText("@ann", { exact: true })).toBeVisible();
  await expect(first.getByText("question", { exact: true })).toBeVisible();
  await expect(talk.getByText("agrees with bob")).toBeVisible();
  await expect(talk.getByText("bob has nothing to add")).toBeVisible();
  await expect(talk.getByRole("separator", { name: "Round 1 settled" })).toContainText("4 turns");
  await talk.getByText("For you alone").click();
  await expect(talk.getByText("I had a doubt.")).toBeVisible();
  await expect(first.getByText("window.hurt=2")).toBeVisible();
  await look(page, "room");

  // What a turn got is shown as it was sent.
  await first.getByRole("button", { name: "Show the prompt of turn t1" }).click();
  await expect(page.getByRole("group", { name: "Prompt" })).toContainText("Which database?");
  await look(page, "room-prompt");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "More orders" }).click();
  await page.getByRole("menuitem", { name: "What marks mean" }).click();
  await expect(page.getByRole("dialog", { name: "Marks" }).getByText("+1 NAME")).toBeVisible();
  await look(page, "room-marks");
  await page.keyboard.press("Escape");

  // A message to one is answered to the person alone. Names are offered behind @.
  await page.getByLabel("To", { exact: true }).selectOption("bob");
  await input.pressSequentially("Say hello, @b");
  await expect(page.getByRole("listbox", { name: "Members" }).getByRole("option", { name: "bob" })).toBeVisible();
  await input.press("Tab");
  await expect(input).toHaveValue("Say hello, @bob ");
  await input.press("Control+Enter");
  await expect(talk.getByText("Hello to you alone.")).toBeVisible();
  await expect(talk.getByText("to bob alone")).toBeVisible();
  await expect(talk.getByText("to you alone", { exact: true })).toBeVisible();

  // What a member asks is answered in the room.
  const waits = page.getByRole("region", { name: "What waits for you" });
  await input.fill("Ask me");
  await input.press("Enter");
  await expect(waits.getByText("May I?")).toBeVisible();
  await look(page, "room-asks");
  await waits.getByLabel("Answer bob").fill("in my own words");
  await waits.getByRole("button", { name: "Answer" }).click();
  await expect(talk.getByText("You said: in my own words.")).toBeVisible();
  await expect(waits).toHaveCount(0);

  // A turn that takes long is stopped; the member answers the next question and not that one.
  await page.getByLabel("To", { exact: true }).selectOption("ann");
  await input.fill("Take a rest");
  await input.press("Enter");
  await expect(of("ann").getByText("in turn")).toBeVisible();
  await look(page, "room-turn");
  await page.setViewportSize({ width: 360, height: 740 }); // one part at a time
  await page.getByRole("button", { name: "Members", exact: true }).click();
  await page.getByRole("button", { name: "Work of ann" }).click();
  await expect(members.getByText("Take a rest")).toBeVisible();
  await look(page, "room-members");
  await page.getByRole("button", { name: "Stop ann" }).click();
  await expect(talk.getByText("ann's turn was stopped")).toBeVisible();

  // Paused, the room takes messages and gives them to nobody until it is resumed.
  await page.getByRole("button", { name: "Pause" }).click();
  await expect(waits.getByText("The room is paused")).toBeVisible();
  await page.getByLabel("To", { exact: true }).selectOption("");
  await input.fill("Which one now?");
  await input.press("Enter");
  await expect(page.getByText("It waits until the room is resumed.")).toBeVisible();
  await expect(of("bob").getByText("1 unread message")).toBeVisible();
  await look(page, "room-paused");
  await waits.getByRole("button", { name: "Resume" }).click();
  await expect(talk.getByRole("separator", { name: /^Round \d+ settled$/ }).last()).toBeInViewport();
  await expect(talk.getByRole("group", { name: /^First answers to #(?!4$)/ })).toBeVisible();

  await page.getByRole("button", { name: "More orders" }).click();
  await page.getByRole("menuitem", { name: "Close the room…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Close the room" }).click();
  await expect(input).toBeDisabled();
  await look(page, "room-closed");
  await page.getByRole("link", { name: "All rooms" }).click();
  await expect(page.getByRole("list", { name: "Rooms" }).getByText("closed")).toBeVisible();
  await look(page, "rooms");
  await page.getByRole("link", { name: "auth", exact: true }).click();
  await page.getByRole("button", { name: "Reopen" }).click();
  await expect(input).toBeEnabled();
  expect(await page.evaluate(() => "hurt" in window)).toBe(false);
  expect(faults).toEqual([]);
});

test("a message whose answer was lost is the same message when it is sent again", async ({ org, page }) => {
  await begin(org, page);
  await beginRoom(page, "once");
  const talk = page.getByRole("list", { name: "Talk in once" });
  const input = page.getByLabel("Message to once");
  // The connection is lost before the page has the answer: the server has the message.
  await page.evaluate(() => {
    const fetch = window.fetch.bind(window);
    window.fetch = async (...of) => {
      const response = await fetch(...of);
      if (of[0] instanceof Request && of[0].method === "POST" && of[0].url.endsWith("/messages")) {
        window.fetch = fetch;
        throw new TypeError("the connection was lost");
      }
      return response;
    };
  });
  await input.fill("Say hello once");
  await input.press("Enter");
  await expect(page.getByRole("region", { name: "Notices" }).getByText("The server does not answer.")).toBeVisible();
  await expect(talk.getByText("Hello to you alone.")).toHaveCount(2);
  await expect(input).toHaveValue("Say hello once");
  await input.press("Enter");
  await expect(input).toHaveValue("");
  await expect(talk.getByRole("separator", { name: "Round 1 settled" })).toBeVisible();
  await expect(talk.getByText("Say hello once")).toHaveCount(1);
});

test("a round whose turns are used up continues for as many as the person says", async ({ org, page }) => {
  await begin(org, page);
  await page.evaluate(async () => {
    await fetch("/api/rooms", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name: "short", members: ["scripted=ann:ann", "scripted=bob:bob"], settings: { turns: 1 } }) });
  });
  await page.keyboard.press("Control+k");
  await page.getByPlaceholder(/^Find a page/).fill("room short");
  await page.keyboard.press("Enter");
  const talk = page.getByRole("list", { name: "Talk in short" });
  await page.getByLabel("Message to short").fill("Which database?");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(talk.getByRole("separator", { name: "Round 1 capped" })).toContainText("turns are used up");
  const waits = page.getByRole("region", { name: "What waits for you" });
  await expect(waits.getByRole("button", { name: "Continue the round" })).toBeVisible();
  await look(page, "room-capped");
  await page.getByRole("button", { name: "More orders" }).click();
  await page.getByRole("menuitem", { name: "Continue the round…" }).click();
  await page.getByLabel("Turns of each member").fill("none");
  await expect(page.getByRole("button", { name: "Continue", exact: true })).toBeDisabled();
  await page.getByLabel("Turns of each member").fill("2");
  await page.getByRole("button", { name: "Continue", exact: true }).click();
  await expect(talk.getByText("You continued the round, at most 2 turns a member")).toBeVisible();
  await expect(talk.getByRole("separator", { name: "Round 1 settled" })).toBeVisible();
  await expect(waits).toHaveCount(0);
  await page.getByRole("link", { name: "All rooms" }).click();
  await page.keyboard.press("Control+k");
  await page.getByPlaceholder(/^Find a page/).fill("begin a room");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog", { name: "Begin a room" })).toBeVisible();
});

test("a long room shows its newest first, and the rest on the way up", async ({ org, page }) => {
  await begin(org, page);
  await beginRoom(page, "long");
  await page.getByRole("button", { name: "Pause" }).click();
  await expect(page.getByText("The room is paused")).toBeVisible();
  await page.evaluate(async () => {
    for (let i = 1; i <= 130; i++) {
      await fetch("/api/rooms/long/messages", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ text: `This is message ${i}` }) });
    }
  });
  await page.reload();
  const talk = page.getByRole("list", { name: "Talk in long" });
  await expect(talk.getByText("This is message 130", { exact: true })).toBeVisible();
  const asked: string[] = [];
  page.on("request", (r) => asked.push(r.url()));
  await talk.hover();
  await expect(async () => {
    await page.mouse.wheel(0, -2000);
    await expect(talk.getByText("This is message 1", { exact: true })).toBeInViewport({ timeout: 200 });
  }).toPass();
  expect(asked.filter((url) => url.includes("cursor="))).not.toEqual([]); // older ones were asked for on the way
  await page.getByRole("button", { name: "Jump to latest" }).click();
  await expect(talk.getByText("This is message 130", { exact: true })).toBeInViewport();
});

test("a message above the tokens of the configuration is sent once the person says so", async ({ org, page }) => {
  await begin(org, page);
  org.write({ ".cmux/config.yml": "supervisor: {agent: scripted}\nrooms: {confirm: 100, policy: once}\n" });
  org.cmux("config", "apply", "--yes");
  await page.getByRole("button", { name: "Begin a room" }).click();
  await expect(page.getByLabel("Who answers")).toHaveValue("once"); // as the configuration says
  await page.keyboard.press("Escape");
  await beginRoom(page, "dear");
  const talk = page.getByRole("list", { name: "Talk in dear" });
  const input = page.getByLabel("Message to dear");
  const dialog = page.getByRole("dialog", { name: "Send this message?" });
  await input.fill("Which database?");
  await input.press("Enter");
  await expect(dialog.getByText("you are asked above 100")).toBeVisible();
  await look(page, "room-confirm");
  await expect(dialog).toHaveCount(0); // the page was made narrow, which sets it up again
  await input.press("Enter");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(input).toHaveValue("Which database?");
  await input.press("Enter");
  await dialog.getByRole("button", { name: "Send message" }).click();
  await expect(input).toHaveValue("");
  await expect(talk.getByRole("separator", { name: "Round 1 settled" })).toContainText("2 turns");
  await expect(talk.getByText("Which database?")).toHaveCount(1);
});
