import type { Page } from "@playwright/test";

import { faultsOf, look } from "./checks";
import { expect, idle, test, type Organization } from "./organization";

/** Something of each kind waits: a question, a permission, three gates of a matrix, failures, a review, a message. */
const config = `session: release
main_pane: false
agents:
  - name: build
    agent: command
    task: "printf 'one\\\\ntwo\\\\n' > api.txt; git add -A; git commit -qm 'The API'"
    verify: ["test -e api.txt"]
  - {name: lint, agent: command, role: review, task: "echo reading; echo 'api.txt:2 too long'; exit 3"}
  - {name: unit, agent: command, role: review, task: "true", verify: ["echo 'expected 3, got 4'; exit 1"], retries: 0}
  - name: ask
    agent: scripted
    role: review
    task: |
      echo '{"text": "Which color?", "options": ["blue", "green"]}' | cmux hook question
      read -r said
      cmux done "It is $said"
      cat > /dev/null
  - {name: ship, role: gate, matrix: {region: [eu, us, asia]}, depends_on: [build]}
  - {name: publish, agent: command, role: review, task: "true", depends_on: [ship, lint]}
`;

async function begin(org: Organization, page: Page): Promise<void> {
  org.write({ ".cmux-agents.yml": config, "README.md": "# Shop\n" });
  org.run("git", "add", "-A");
  org.run("git", "commit", "-qm", "begin");
  org.start(idle);
  org.cmux("mailbox", "send", "user", "Which road?", "The **left** one?");
  org.cmux("agents", "start", "--yes", "--detach");
  await org.open(page);
  await expect(row(page, "Review build")).toBeVisible();
  await expect(row(page, "Question ask")).toBeVisible();
  await expect(row(page, "Failure unit")).toBeVisible();
  await expect(row(page, "Failure lint")).toBeVisible();
}

const list = (page: Page) => page.getByRole("list", { name: "What waits for you" });
const row = (page: Page, name: string) => list(page).getByRole("link", { name: new RegExp(`^${name.replace("?", "\\?")}(,|$)`) });
const theCase = (page: Page, name: string) => page.getByRole("region", { name, exact: true });
/** A node, as the command line has it. */
const node = (org: Organization, name: string) => (JSON.parse(org.cmux("agents", "status", "--json")) as { nodes: { name: string; label: string; attempts: number }[] }).nodes.find((n) => n.name === name);
const label = (org: Organization, name: string) => node(org, name)?.label;
const attempts = (org: Organization, name: string) => node(org, name)?.attempts;

test("each case is read and decided by mouse, and a decision is undone", async ({ org, page }) => {
  const faults = faultsOf(page);
  await begin(org, page);
  await expect(page).toHaveTitle("(8) Needs you · cmux");
  await expect(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Needs you 8" })).toBeVisible();

  // A gate: what was done below it, and what waits for it.
  await row(page, "Gate ship-eu").click();
  const gate = theCase(page, "ship-eu");
  await expect(gate.getByText("1 node cannot start before: publish")).toBeVisible();
  const below = gate.getByRole("article", { name: "build" });
  await expect(below.getByText("test -e api.txt")).toBeVisible();
  await expect(below.getByRole("list", { name: "Files of build" }).getByText("api.txt")).toBeVisible();
  await look(page, "inbox-gate");

  // Undone, it waits as before and nothing was sent.
  await gate.getByRole("button", { name: "Approve" }).click();
  await expect(row(page, "Gate ship-eu")).toHaveCount(0);
  await expect(page).toHaveTitle("(7) Needs you · cmux");
  await page.getByRole("button", { name: "Undo: ship-eu: approved" }).click();
  await expect(row(page, "Gate ship-eu")).toBeVisible();
  expect(label(org, "ship-eu")).toBe("needs input");

  // One decision for the gates of a matrix, sent at once when asked.
  await row(page, "Gate ship-eu").click();
  await gate.getByRole("button", { name: "Choose all 3 gates of release" }).click();
  await page.getByRole("region", { name: "3 things are chosen" }).getByRole("button", { name: "Approve" }).click();
  await page.getByRole("button", { name: "Send now: 3 gates: approved" }).click();
  await expect.poll(() => ["eu", "us", "asia"].map((r) => label(org, `ship-${r}`))).toEqual(["done", "done", "done"]);
  await expect(page).toHaveTitle("(5) Needs you · cmux");

  // A failure: the output of the check that failed, and the last lines of a command.
  await row(page, "Failure unit").click();
  await expect(theCase(page, "unit").getByText("expected 3, got 4").first()).toBeVisible();
  await look(page, "inbox-failure");
  await row(page, "Failure lint").click();
  await expect(theCase(page, "lint").getByRole("group", { name: "Last lines of lint" })).toHaveText("reading\napi.txt:2 too long\n");
  await theCase(page, "lint").getByRole("button", { name: "Override" }).click();
  await page.getByRole("button", { name: /^Send now: lint/ }).click();
  await expect.poll(() => label(org, "publish")).toBe("done");

  // A question with its options.
  await row(page, "Question ask").click();
  await look(page, "inbox-question");
  const top = async (button: string) => (await theCase(page, "ask").getByRole("button", { name: button }).boundingBox())?.y ?? 0;
  expect(await top("green")).toBeLessThan(await top("Cancel node"));
  await theCase(page, "ask").getByRole("button", { name: "green" }).click();
  await page.getByRole("button", { name: /^Send now: ask/ }).click();
  await expect.poll(() => label(org, "ask")).toBe("done");

  // A message is read and answered.
  await row(page, "Message Which road?").click();
  await expect(theCase(page, "Which road?").locator("strong")).toHaveText("left");
  await look(page, "inbox-message");

  // The work itself, with its changes.
  await row(page, "Review build").click();
  await expect(theCase(page, "build").getByText("added: one")).toBeVisible();
  await look(page, "inbox-review");
  await theCase(page, "build").getByRole("button", { name: "Approve" }).click();
  await page.getByRole("button", { name: /^Send now: build/ }).click();
  await expect.poll(() => org.cmux("agents", "review", "build")).toContain("approved");
  expect(faults).toEqual([]);
});

test("the inbox is worked through by the keyboard alone", async ({ org, page }) => {
  const faults = faultsOf(page);
  await begin(org, page);
  const at = () => list(page).locator("[aria-current]").getAttribute("aria-label");
  /** Goes to a row by j and k, one after the other. */
  const goTo = async (name: string) => {
    for (let here = await at(); here?.startsWith(name) !== true; here = await at()) {
      const names = await list(page).getByRole("link").evaluateAll((all) => all.map((e) => e.getAttribute("aria-label") ?? ""));
      await page.keyboard.press(names.findIndex((n) => n.startsWith(name)) > names.indexOf(here ?? "") ? "j" : "k");
      await expect.poll(at).not.toBe(here);
    }
  };
  /** Presses a key. One that comes at once after a case came by itself does not count. */
  const decide = (key: string, said: string) =>
    expect(async () => {
      await page.keyboard.press(key);
      await expect(page.getByText(said)).toBeVisible({ timeout: 700 });
    }).toPass();
  await goTo("Question ask");
  await decide("2", "ask: answered “green”");
  await page.keyboard.press("u");
  await expect(row(page, "Question ask")).toBeVisible();
  await goTo("Question ask");
  await page.keyboard.press("c");
  await page.keyboard.type("red");
  await page.keyboard.press("Enter");
  await expect(page.getByText("ask: answered “red”")).toBeVisible();

  await goTo("Gate ship-eu");
  await page.keyboard.press("x");
  await goTo("Gate ship-us");
  await page.keyboard.press("x");
  await page.keyboard.press("a");
  await expect(page.getByText("2 gates: approved")).toBeVisible();
  await goTo("Failure lint");
  await decide("o", "lint: overridden");
  await goTo("Failure unit");
  await decide("r", "unit: retried");
  await goTo("Message Which road?");
  await decide("a", "Which road?: marked as read");
  await goTo("Review build");
  await decide("a", "build: approved");

  // Who leaves has decided.
  await page.goto("about:blank");
  await expect.poll(() => attempts(org, "unit")).toBe(2);
  await expect.poll(() => ["ship-eu", "ship-us", "ask", "lint"].map((n) => label(org, n))).toEqual(["done", "done", "done", "done (override)"]);
  expect(label(org, "ship-asia")).toBe("needs input");
  await expect.poll(() => org.cmux("agents", "review", "build")).toContain("approved");
  expect(faults).toEqual([]);
});

test("on a telephone: the list, then the case", async ({ org, page }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await begin(org, page);
  await expect(theCase(page, "ship-eu")).toHaveCount(0);
  await page.getByRole("button", { name: /^Gates/ }).click();
  await expect(list(page).getByRole("listitem")).toHaveCount(3);
  await row(page, "Gate ship-us").click();
  await expect(list(page)).toHaveCount(0);
  await theCase(page, "ship-us").getByRole("button", { name: "Approve" }).click();
  await page.getByRole("button", { name: /^Send now: ship-us/ }).click();
  await expect.poll(() => label(org, "ship-us")).toBe("done");
  await expect(list(page).getByRole("listitem")).toHaveCount(2); // and no other case under the same thumb
  await row(page, "Gate ship-eu").click();
  await page.getByRole("button", { name: "List" }).click();
  // The button of the browser leads back, too.
  await row(page, "Gate ship-eu").click();
  await page.goBack();
  await expect(list(page).getByRole("listitem")).toHaveCount(2);
  await page.getByRole("button", { name: /^All/ }).click();

  // The main action of the others.
  for (const [kind, name, button] of [["Failure", "lint", "Retry"], ["Question", "ask", "blue"], ["Review", "build", "Approve"], ["Message", "Which road?", "Mark as read"]] as const) {
    await row(page, `${kind} ${name}`).click();
    await theCase(page, name).getByRole("button", { name: button, exact: true }).click();
    await page.getByRole("button", { name: `Send now: ${name}` }).click();
  }
  await expect.poll(() => attempts(org, "lint")).toBe(2);
  await expect.poll(() => label(org, "ask")).toBe("done");
  await expect.poll(() => org.cmux("agents", "review", "build")).toContain("approved");
  await expect(row(page, "Message Which road?")).toHaveCount(0);
});

test("nothing of a stopped run waits", async ({ org, page }) => {
  await begin(org, page);
  org.cmux("agents", "stop");
  await expect(list(page).getByRole("listitem")).toHaveCount(1);
  await expect(row(page, "Message Which road?")).toBeVisible();
});
