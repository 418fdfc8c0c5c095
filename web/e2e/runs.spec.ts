import { healthy } from "./checks";
import { expect, test } from "./organization";

/** Begins with `build` failing until the person repairs what it looks for; then a gate, and what waits for it. */
const config = `session: shop
defaults: {agent: command, role: build}
agents:
  - {name: build, task: "test -e \\"$CMUX_ROOT/repaired\\" || { echo '<script>document.title=1</script>'; exit 7; }"}
  - {name: beside, task: "true"}
  - {name: gate, role: gate, depends_on: [build, beside]}
  - {name: publish, task: "true", depends_on: [gate]}
`;

test("a run is edited, started, watched, retried and approved from the page alone", async ({ org, page }) => {
  const faults: string[] = [];
  page.on("console", (m) => m.type() === "error" && !m.text().includes("status of 4") && faults.push(m.text()));
  page.on("pageerror", (e) => faults.push(e.message));
  org.write({ ".cmux-agents.yml": config });
  org.start();
  await org.open(page, "/runs");
  await expect(page.getByText("There is no run yet")).toBeVisible();
  await healthy(page, "runs");

  await page.getByRole("button", { name: "Start", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("cell", { name: "publish", exact: true })).toBeVisible();
  await expect(dialog.getByRole("heading", { name: /^Schedule: / })).toBeVisible();
  await healthy(page, "runs");
  await dialog.getByRole("button", { name: "Start the run" }).click();

  // It fails while it is watched.
  const graph = page.getByRole("group", { name: "Graph of the run" });
  await expect(graph.getByRole("button", { name: /^build( on the critical path)? failed \(exit 7\)/ })).toBeVisible();
  await expect(graph.getByRole("button", { name: /^publish.* blocked/ })).toBeVisible();
  await healthy(page, "runs");

  // It needs the person, who repairs it and runs it again.
  await page.getByRole("link", { name: /Needs you/ }).click();
  await page.getByRole("link", { name: "Failure build, run shop" }).click();
  const need = page.getByRole("region", { name: "build", exact: true });
  await expect(need.getByText("failed (exit 7)").first()).toBeVisible();
  await healthy(page, "runs");
  org.write({ repaired: "" });
  await need.getByRole("button", { name: "Retry" }).click();
  await page.getByRole("button", { name: "Send now: build: retried" }).click();

  // Then the gate is opened.
  await page.getByRole("link", { name: "Gate gate, run shop" }).click();
  await page.getByRole("region", { name: "gate", exact: true }).getByRole("button", { name: "Approve" }).click();
  await page.getByRole("button", { name: "Send now: gate: approved" }).click();
  await expect(page.getByRole("link", { name: "Gate gate, run shop" })).toHaveCount(0);
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await page.getByRole("list", { name: "Runs" }).getByRole("link", { name: "shop" }).click();
  await expect(graph.getByRole("button", { name: /^publish.* done/ })).toBeVisible();
  await expect(page.getByText("4 of 4 nodes done")).toBeVisible();
  await graph.getByRole("button", { name: /^build.* done/ }).click();
  await expect(page.getByRole("complementary", { name: "Node build" }).getByRole("list", { name: "Attempts" }).getByRole("listitem")).toHaveCount(2);

  await page.getByRole("tab", { name: "Attempts in time" }).click();
  await expect(page.getByRole("img", { name: /^Attempt 1: failed \(exit 7\)/ })).toBeVisible();
  await healthy(page, "runs");
  await page.getByRole("tab", { name: "Table" }).click();
  await page.getByLabel("Find a node").fill("publish");
  await expect(page.getByText("1 node", { exact: true })).toBeVisible();
  await healthy(page, "runs");
  expect(faults).toEqual([]);
});
