import { faultsOf, look } from "./checks";
import { release, startModel } from "./model";
import { expect, test } from "./organization";
import { ask, hostile } from "./rooms";

/** What the model says. The programs are real. Its second half comes once the first was seen. */
const script = `scripts:
  - name: on
    match: Write on
    turns:
      - - halved: {text: "I write and write and write and write", hold: never}
  - name: claude
    match: You are ann in the room design
    turns:
      - - halved: {text: '**SQLite**, ${hostile} as it is one file and needs no server, and that is all there is to say about it.', hold: first}
  - name: qwen
    match: You are bob in the room design
    turns:
      - - halved: {text: "Postgres, as more than one program writes to it.", hold: first}
`;

test("what members are writing is seen before it is complete, and once", async ({ org, page }) => {
  test.setTimeout(180_000); // of a machine that has much to do; else it takes 30 s
  const faults = faultsOf(page);
  const model = await startModel(org, script);
  try {
    org.unfence();
    org.start();
    await page.addInitScript(() => localStorage.setItem("cmux-first-steps-seen", "1"));
    await org.open(page, "/rooms");
    await ask(page, "/api/rooms", { name: "design", members: ["claude=ann", "qwen=bob"], settings: { policy: "once" } });
    await page.getByRole("link", { name: "design", exact: true }).click();
    const talk = page.getByRole("list", { name: "Talk in design" });
    const input = page.getByLabel("Message to design");
    const writing = (name: string) => page.getByRole("log", { name: `What ${name} is writing` });

    await input.fill("Which database?");
    await input.press("Enter");
    await expect(writing("ann")).toContainText("**SQLite**, <img src=x onerror=window.hurt=1>", { timeout: 60_000 });
    await expect(writing("bob")).toContainText("Postgres, as more", { timeout: 60_000 });
    await expect(writing("ann")).toHaveAttribute("aria-live", "off");
    await expect(talk.getByText(/SQLite|Postgres/)).toHaveCount(0);
    await look(page, "room-unfinished");

    // A page that comes now has it at once.
    await page.reload();
    await expect(writing("ann")).toContainText("**SQLite**");

    // It is never there together with the whole text, and does not come back.
    await page.evaluate(() => {
      const seen: string[] = [];
      const look = () => {
        const row = [...document.querySelectorAll("ul[aria-label=Members] > li")].find((li) => li.textContent.startsWith("ann"));
        const unfinished = (row?.querySelector("[role=log]") ?? null) !== null;
        const whole = [...(row?.querySelectorAll("p > span") ?? [])].some((line) => line.textContent.includes("SQLite"));
        const state = `${unfinished ? "unfinished" : ""} ${whole ? "whole" : ""}`.trim();
        if (seen.at(-1) !== state) {
          seen.push(state);
        }
      };
      look();
      new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
      Object.assign(window, { seen });
    });
    await release(org, "first");
    await expect(talk.getByRole("separator", { name: "Round 1 settled" })).toBeVisible();
    await expect(talk.getByText("SQLite", { exact: true })).toHaveCount(1);
    await expect(talk.getByText("Postgres, as more than one program writes to it.")).toHaveCount(1);
    await expect(writing("ann")).toHaveCount(0);
    await expect(writing("bob")).toHaveCount(0);
    const seen = await page.evaluate(() => (window as unknown as { seen: string[] }).seen);
    expect([["unfinished", "whole", ""], ["unfinished", ""]]).toContainEqual(seen);

    // A turn that is stopped leaves nothing of what it was writing.
    await page.getByLabel("To", { exact: true }).selectOption("ann");
    await input.fill("Write on");
    await input.press("Enter");
    await expect(writing("ann")).toHaveText("I write and write ");
    await page.getByRole("button", { name: "Stop ann" }).click();
    await expect(talk.getByText("ann's turn was stopped")).toBeVisible();
    await expect(writing("ann")).toHaveCount(0);
  } finally {
    model.kill();
  }
  expect(await page.evaluate(() => "hurt" in window)).toBe(false);
  expect(faults).toEqual([]);
});
