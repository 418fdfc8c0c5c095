import { faultsOf, look } from "./checks";
import { expect, test, type Organization, type Page } from "./organization";
import { ask, begin, hostile } from "./rooms";

test.setTimeout(300_000);

/** A member that plans and reviews cards. Asked who does what, ann and bob do not agree. */
const talker = `case "$CMUX_NODE" in *-t[0-9]*) exec sh "$CMUX_ROOT/.cmux/roles/worker.md" ;; esac # a worker has the persona of its implementer
f=$(eval "echo $SCRIPTED_CONVERSATION")
while read -r line; do
  printf '%s %s\\n' "$(date +%s%N)" "$line" >> "$f"
  said='[PASS]'
  case "$line" in
  *'Be silent'*) ;;
  *'Who should do this'*)
    case "$CMUX_NODE" in
    *ann) said='Planner: @ann, Implementer: @bob, Reviewer: @ann' ;;
    *) said='Planner: @bob, Implementer: @bob, Reviewer: @ann' ;;
    esac ;;
  *'You plan this card'*) said='Two **tables**. ${hostile}\\n[DONE]' ;;
  *'You review this plan'*) said='Good.\\n[DONE]' ;;
  *'You review this work'*) said='It does that.\\n[DONE]' ;;
  *'Propose something'*) case "$CMUX_NODE" in *bob) said='[TODO] Sessions in SQLite' ;; esac ;;
  esac
  printf 'said %s\\n' "$said" >> "$f"
  printf '{"text": "%s"}' "$said" | cmux hook turn-ended
done
`;

const worker = `while read -r line; do
  case "$line" in
  *Sessions*) echo tables >> tables.txt && git add tables.txt && git commit -qm tables && cmux done 'there are tables' ;;
  esac
  printf '{"text": "ok"}' | cmux hook turn-ended
done
`;

async function room(org: Organization, page: Page, name: string): Promise<void> {
  await begin(org, page);
  org.write({ ".cmux/roles/ann.md": talker, ".cmux/roles/bob.md": talker, ".cmux/roles/worker.md": worker });
  await ask(page, "/api/rooms", { name, members: ["scripted=ann:ann", "scripted=bob:bob"] });
  await page.goto(new URL(`/rooms/${name}`, page.url()).href);
}

test("a card is proposed, gets its roles from the room, and is done once its reviewer approves it", async ({ org, page }) => {
  const faults = faultsOf(page);
  await room(org, page, "design");
  const parts = page.getByRole("group", { name: "Parts beside the talk" });
  const cards = page.getByRole("region", { name: "Cards" });
  const column = (name: string) => cards.getByRole("region", { name: new RegExp(`^${name}, `) });
  const card = (name: string, id: string) => column(name).getByRole("button", { name: new RegExp(`^${id} `) });
  const dialog = page.getByRole("dialog");
  const notices = page.getByRole("region", { name: "Notices" });

  // The part is empty until somebody looks; it can be hidden like the others.
  await expect(cards).toHaveCount(0);
  await parts.getByRole("button", { name: "Cards" }).click();
  await expect(cards.getByText("There is no card yet")).toBeVisible();
  await look(page, "cards-none");
  await parts.getByRole("button", { name: "Members" }).click();
  await expect(page.getByRole("list", { name: "Members" })).toHaveCount(0);
  await parts.getByRole("button", { name: "Members" }).click();

  // What a member proposes becomes a card, once.
  await page.getByLabel("Message to design").fill("@bob Propose something");
  await page.getByLabel("Message to design").press("Enter");
  const proposed = cards.getByRole("region", { name: "Proposed cards" });
  await expect(proposed.getByText("bob: Sessions in SQLite")).toBeVisible();
  await proposed.getByRole("button", { name: "Make a card" }).click();
  await dialog.getByLabel("Title").fill("Sessions in SQLite");
  await look(page, "card-form");
  await dialog.getByRole("button", { name: "Add card" }).click();
  await expect(proposed).toHaveCount(0);
  await expect(card("Backlog", "t1")).toBeVisible();

  // Without an implementer it moves nowhere, and the page says why.
  await card("Backlog", "t1").focus();
  await page.keyboard.press("ArrowRight");
  await expect(notices.getByText("nobody implements it yet")).toBeVisible();

  // The room is asked who does what. It does not agree: the person picks an answer.
  await cards.getByRole("button", { name: "Ask the room: t1" }).click();
  await expect(cards.getByText(/needs you: who does what/)).toBeVisible();
  await cards.getByRole("button", { name: "Choose an answer: t1" }).click();
  await expect(dialog.getByText("planner bob, implementer bob, reviewer ann")).toBeVisible();
  await look(page, "card-answers");
  await dialog.getByRole("button", { name: "Take the answer of ann" }).click();
  await expect(dialog.getByText("who does what")).toHaveCount(0);
  await page.keyboard.press("Escape");

  // The nearest move to the right starts it; the plan is written and reviewed, and a worker begins.
  await card("Backlog", "t1").focus();
  await expect(card("Backlog", "t1")).toHaveAccessibleName(/^t1 Sessions in SQLite, Backlog, backlog, planner ann, implementer bob, reviewer ann$/);
  await page.keyboard.press("ArrowRight");
  await expect(dialog.getByText("First ann plans, in a turn of its own.")).toBeVisible();
  await look(page, "card-start");
  await dialog.getByRole("button", { name: "Start card" }).click();
  await expect(column("Done").getByText("approved by ann")).toBeVisible(); // after its plan, the work of an agent, and a review
  await expect(card("Done", "t1")).toHaveAccessibleName(/^t1 Sessions in SQLite, Done, /);
  expect(faults).toEqual([]);
});

test("the person approves, sends back and calls done what the rule allows", async ({ org, page }) => {
  const faults = faultsOf(page);
  await room(org, page, "board");
  const cards = page.getByRole("region", { name: "Cards" });
  const column = (name: string) => cards.getByRole("region", { name: new RegExp(`^${name}, `) });
  const card = (name: string, id: string) => column(name).getByRole("button", { name: new RegExp(`^${id} `) });
  const dialog = page.getByRole("dialog");
  await ask(page, "/api/cards", { room: "board", title: `Sessions ${hostile}`, planner: "ann", implementer: "bob" });
  await ask(page, "/api/cards", { room: "board", title: "Quiet", body: "Be silent.", planner: "bob", implementer: "bob", reviewer: "ann" });
  await ask(page, "/api/cards", { room: "board", title: "By hand", implementer: "bob", verify: ["true", "make"] });
  await expect(card("Backlog", "t3")).toBeVisible(); // it came without a reload
  await expect(card("Backlog", "t3")).toHaveAccessibleName(/2 checks, implementer bob$/);

  // Its plan is made, a worker does it, and the work waits for the person, who sends it back and approves.
  await cards.getByRole("button", { name: "Start: t1" }).click();
  await dialog.getByRole("button", { name: "Start card" }).click();
  await expect(column("Reviewing").getByText("waits for your approval")).toBeVisible();
  await look(page, "cards");
  await page.setViewportSize({ width: 360, height: 740 });
  await page.getByRole("button", { name: "Cards", exact: true }).click();
  await expect(card("Reviewing", "t1")).toBeVisible();
  await look(page, "cards-narrow");
  await expect(page.getByRole("region", { name: "What waits for you" }).getByRole("link", { name: "Open the card" })).toBeVisible();
  await page.getByRole("region", { name: "What waits for you" }).getByRole("link", { name: "Open the card" }).click();
  await expect(dialog.getByRole("region", { name: "Plan" }).getByText("tables")).toBeVisible();
  await expect(dialog.getByRole("region", { name: "Work" })).toContainText("there are tables");
  await dialog.getByText("History").click();
  await expect(dialog.getByText("add", { exact: true })).toBeVisible();
  await look(page, "card");
  await dialog.getByRole("button", { name: "Send back: t1" }).click();
  const back = page.getByRole("dialog", { name: "Send the work on t1 back" });
  await expect(back.getByRole("button", { name: "Send back" })).toBeDisabled();
  await back.getByLabel("What must change").fill("Sessions need a key.");
  await back.getByRole("button", { name: "Send back" }).click();
  await expect(back).toHaveCount(0);
  await page.keyboard.press("Escape");
  await expect(column("Reviewing").getByText("waits for your approval")).toBeVisible(); // a second worker was quick
  await cards.getByRole("button", { name: "Approve: t1" }).click();
  await dialog.getByRole("button", { name: "Approve work" }).click();
  await expect(column("Done").getByText("approved by user")).toBeVisible();
  await expect(card("Done", "t1")).toBeFocused(); // the focus follows the card

  // A member that passes is no verdict: the person asks it once more, or puts the card back.
  await cards.getByRole("button", { name: "Start: t2" }).click();
  await dialog.getByRole("button", { name: "Start card" }).click();
  await expect(column("Planning").getByText("needs you: bob passed")).toBeVisible();
  await look(page, "cards-needs");
  await cards.getByRole("button", { name: "Ask again: t2" }).click();
  await expect.poll(() => page.evaluate(async () => ((await (await fetch("/api/cards/t2")).json()) as { card: { asked: number; waits?: string } }).card)).toMatchObject({ asked: 2, waits: "bob passed" });
  await expect(column("Planning").getByText("needs you: bob passed")).toBeVisible();
  await card("Planning", "t2").focus();
  await page.keyboard.press("ArrowLeft");
  await dialog.getByRole("button", { name: "Put back" }).click();
  await expect(card("Backlog", "t2")).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(card("Backlog", "t3")).toBeFocused();

  // A card is edited; done by hand asks first and says so.
  await page.getByRole("button", { name: "Actions for t3" }).click();
  await page.getByRole("menuitem", { name: "Edit card…" }).click();
  await dialog.getByLabel("Reviewer").selectOption("ann");
  await dialog.getByLabel("Title").fill("By hand alone");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(card("Backlog", "t3")).toHaveAccessibleName(/^t3 By hand alone, .*reviewer ann$/);
  await page.getByRole("button", { name: "Actions for t3" }).click();
  await page.getByRole("menuitem", { name: "Call it done (override)…" }).click();
  await expect(dialog.getByText("is shown as done (override)")).toBeVisible();
  await look(page, "card-override");
  await dialog.getByRole("button", { name: "Go back" }).click();
  await expect(card("Backlog", "t3")).toBeVisible();

  // A drop counts where the rule allows it, and asks the same.
  await column("Backlog").getByRole("listitem").filter({ has: page.getByRole("button", { name: /^t3 / }) }).dragTo(column("Planning"));
  await expect(dialog).toHaveCount(0);
  await column("Backlog").getByRole("listitem").filter({ has: page.getByRole("button", { name: /^t3 / }) }).dragTo(column("Done"));
  await dialog.getByRole("button", { name: "Call it done" }).click();
  await expect(column("Done").getByText("done (override)")).toBeVisible();

  // What somebody else did meanwhile is not undone by an old dialog.
  await page.getByRole("button", { name: "Actions for t2" }).click();
  await page.getByRole("menuitem", { name: "Edit card…" }).click();
  await dialog.getByLabel("Title").fill("Mine");
  org.cmux("cards", "edit", "t2", "--title", "Theirs");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("region", { name: "Notices" }).getByText("has changed since you looked at it")).toBeVisible();
  await expect(dialog.getByLabel("Title")).toHaveValue("Mine");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Actions for t2" }).click();
  await page.getByRole("menuitem", { name: "Cancel card…" }).click();
  await dialog.getByRole("button", { name: "Cancel card" }).click();
  await expect(card("Backlog", "t2")).toHaveCount(0);

  // The board of all rooms names the room of each card.
  await page.goto(new URL("/tasks?tab=cards", page.url()).href);
  await expect(page.getByRole("link", { name: "board", exact: true }).first()).toBeVisible();
  await look(page, "tasks-cards");
  expect(await page.evaluate(() => "hurt" in window)).toBe(false);
  expect(faults).toEqual([]);
});
