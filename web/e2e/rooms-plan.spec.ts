import { faultsOf, look } from "./checks";
import { expect, test } from "./organization";
import { begin, hostile, makeRoom } from "./rooms";

test.setTimeout(300_000);

/** The text of a card that its worker runs as its script. */
const work = (file: string, wait = "") => `: it\n${wait}echo it > ${file}; git add .; git commit -qm ${file}; cmux done 'there is ${file}'; exec cat > /dev/null`;

test("the cards of a room are planned, edited and started beside it, and follow their run", async ({ org, page }) => {
  const faults = faultsOf(page);
  await begin(org, page);
  await makeRoom(page, "design");
  await page.goto(new URL("/rooms/design", page.url()).href);
  await page.getByRole("button", { name: "Plan", exact: true }).click();
  const pane = page.getByRole("region", { name: "Plan", exact: true });
  await expect(pane.getByText("There is no plan.")).toBeVisible();
  await pane.getByRole("button", { name: "Make the plan" }).click();
  await expect(page.getByText("the room design has no cards: there is nothing to plan")).toBeVisible();

  org.cmux("cards", "add", "design", "Sessions", "--implementer", "ann", "--body", work("a.txt"));
  org.cmux("cards", "add", "design", "Tables", "--implementer", "bob", "--after", "t1", "--body", work("b.txt", `until test -e ${org.dir}/go; do sleep 0.1; done\n`));
  org.cmux("cards", "add", "design", `Later ${hostile}`, "--planner", "bob", "--implementer", "ann");
  await expect(pane.getByText("t3: bob is to plan it first")).toBeVisible();
  await look(page, "room-no-plan");
  await pane.getByRole("button", { name: "Make the plan" }).click();
  await expect(pane.getByText("Nothing is wrong: 2 nodes")).toBeVisible();
  await expect(pane.getByText(".cmux/plans/design.yml, as the cards say")).toBeVisible();
  await look(page, "room-plan");

  // What is typed is checked; with a fault nothing is started, and the fault leads to its place.
  const text = pane.getByRole("textbox", { name: "Text of .cmux/plans/design.yml" });
  await text.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("wrong: 1");
  await expect(pane.getByText("1 error")).toBeVisible();
  await expect(pane.getByRole("button", { name: /design\.yml:\d+:\d+$/ })).toBeVisible();
  await expect(pane.getByRole("button", { name: "Start run" })).toBeDisabled();
  await look(page, "room-plan-fault");
  await text.click(); // the pane was drawn again, as of a telephone
  await page.keyboard.press("Control+End");
  for (let i = 0; i < "wrong: 1".length; i++) {
    await page.keyboard.press("Backspace");
  }
  await page.keyboard.type("# mine");
  await expect(pane.getByText("Nothing is wrong: 2 nodes")).toBeVisible();
  await pane.getByRole("button", { name: "Save" }).click();
  await expect(pane.getByText(".cmux/plans/design.yml, edited")).toBeVisible();

  // Made again, what was edited is kept.
  await pane.getByRole("button", { name: "Make again" }).click();
  await page.getByRole("dialog", { name: "Make the plan again?" }).getByRole("button", { name: "Make it again" }).click();
  await expect(page.getByText("What was edited is kept: .cmux/plans/design.edited-1.yml")).toBeVisible();
  expect(org.read(".cmux/plans/design.edited-1.yml")).toContain("# mine");

  await pane.getByRole("button", { name: "Start run" }).click();
  const dialog = page.getByRole("dialog", { name: "Start the run?" });
  await expect(dialog).toContainText("2 nodes for 2 cards");
  await dialog.getByRole("button", { name: "Start", exact: true }).click();
  await expect(pane.getByRole("link", { name: /^Run / })).toBeVisible();
  await expect(pane.getByRole("button", { name: "Start run" })).toHaveCount(0);
  await expect.poll(() => org.cmux("cards", "show", "t2"), { timeout: 120_000 }).toContain("t2-tables running");
  await look(page, "room-plan-run");
  org.run("touch", `${org.dir}/go`);
  await expect(pane.getByText(/ is done\.$/)).toBeVisible({ timeout: 120_000 });
  await expect(page.getByRole("list", { name: "Talk in design" }).getByText(/^t2-tables \(card t2\) is done: there is b\.txt · /)).toBeVisible();
  expect(org.cmux("cards", "show", "t2")).toContain("waits for your approval");
  expect(faults).toEqual([]);
});
