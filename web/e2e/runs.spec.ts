import { faultsOf, healthy, look } from "./checks";
import { expect, test, type Page } from "./organization";

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

/** A node in each state that a person looks at, which stay as they are until somebody acts. */
const stages = `session: shop
main_pane: false
defaults: {agent: scripted, role: review}
agents:
  - {name: build, role: build, agent: command, task: "echo one > api.txt; git add -A; git commit -qm 'The API'", verify: ["test -e api.txt"]}
  - {name: lint, agent: command, task: "echo reading; echo 'api.txt:2 too long'; exit 3"}
  - {name: unit, agent: command, task: "echo unit", verify: ["echo 'expected 3, got 4'; exit 1"], retries: 0}
  - name: report
    task: |
      cmux done 'All **seven** pages are written.'
      cat > /dev/null
  - name: write
    task: "cat > /dev/null"
  - name: ask
    task: |
      echo '{"text": "Which color?", "options": ["blue", "green"]}' | cmux hook question
      read -r said
      cmux done "It is $said"
      cat > /dev/null
  - {name: approval, role: gate, depends_on: [build]}
  - {name: publish, agent: command, task: "true", depends_on: [build, approval, lint]}
`;

test("a run says what it is and what waits, and each node opens on what matters now", async ({ org, page }) => {
  const faults = faultsOf(page);
  org.write({ ".cmux-agents.yml": stages });
  org.run("git", "add", "-A");
  org.run("git", "commit", "-qm", "graph");
  org.start();
  org.cmux("agents", "start", "--yes", "--detach");
  await org.open(page, "/runs");
  await page.getByRole("list", { name: "Runs" }).getByRole("link", { name: "shop" }).click();
  const graph = page.getByRole("group", { name: "Graph of the run" });
  for (const [name, label] of [["approval", "needs input"], ["ask", "needs input"], ["lint", "failed"], ["unit", "failed"], ["report", "done"], ["build", "done"]] as const) {
    await expect(graph.getByRole("button", { name: new RegExp(`^${name}.* ${label}`) })).toBeVisible();
  }

  // Its header: which run, from what, by whom, and what is left.
  await expect(page.getByText("2 of 8 nodes done")).toBeVisible();
  await expect(page.getByText("2 wait for you", { exact: true })).toHaveAttribute("title", "ask, approval");
  await expect(page.getByText("2 failed", { exact: true })).toHaveAttribute("title", "lint, unit");
  await expect(page.getByText("from main")).toBeVisible();
  await expect(graph.getByText("waits for your approval")).toBeVisible();
  await expect(graph.getByText("cmux agents approve")).toHaveCount(0);

  // The panel beside the graph: the reason, the last output, and what a person most often does.
  await graph.getByRole("button", { name: /^lint/ }).click();
  const panel = page.getByRole("complementary", { name: "Node lint" });
  await expect(panel.getByRole("region", { name: "Why it failed" })).toContainText("exit");
  await expect(panel.getByRole("region", { name: "Last output" })).toContainText("api.txt:2 too long");
  await look(page, "run");
  await graph.getByRole("button", { name: /^build/ }).click();
  const done = page.getByRole("complementary", { name: "Node build" });
  await expect(done.getByRole("region", { name: "Checks" })).toContainText("test -e api.txt");
  const [retry, approve] = await Promise.all([done.getByRole("button", { name: "Retry", exact: true }).evaluate((e) => getComputedStyle(e).backgroundColor), panelColor(page)]);
  expect(retry).not.toBe(approve); // it is no button that asks to be pressed

  // On a telephone the graph opens on what waits, as large as it can be read, below a low header.
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(new URL(`/runs/${runOf(page)}`, page.url()).href);
  await expect(graph.getByText(/Which color/)).toBeInViewport();
  const views = page.getByRole("tablist", { name: "Views of the run" });
  expect((await views.boundingBox())?.y).toBeLessThan(250);
  await look(page, "run-telephone");
  // The tabs stand in one row, which is scrolled to the one that is chosen.
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(new URL(`/runs/${runOf(page)}/nodes/report?tab=attempts`, page.url()).href);
  const tabs = page.getByRole("tablist").getByRole("tab");
  await expect(page.getByRole("tab", { name: /^Attempts/ })).toBeInViewport();
  expect(new Set(await tabs.evaluateAll((all) => all.map((e) => e.getBoundingClientRect().top))).size).toBe(1);
  await page.setViewportSize({ width: 1440, height: 900 });

  const open = async (name: string) => {
    await page.goto(new URL(`/runs/${runOf(page)}/nodes/${name}`, page.url()).href);
    await expect(page.getByRole("heading", { name, level: 1 })).toBeVisible();
  };
  const main = page.getByRole("main");
  await open("unit");
  await expect(main.getByRole("region", { name: "Why it failed" })).toContainText("expected 3, got 4");
  await expect(main.getByRole("region", { name: "Last output" })).toContainText("unit");
  await look(page, "node-failed");
  await open("report");
  await expect(main.getByRole("region", { name: "Summary" })).toContainText("All seven pages are written.");
  await look(page, "node-done");
  await open("write");
  await expect(main.getByRole("region", { name: "Conversation" }).getByRole("status", { name: "What it does now" })).toContainText("Now it works");
  await look(page, "node-working");
  await open("approval");
  await expect(main.getByRole("article", { name: "build" }).getByText("test -e api.txt")).toBeVisible();
  await expect(main.getByRole("button", { name: "Approve" })).toBeVisible();
  await look(page, "node-gate");
  await open("publish");
  await expect(main.getByRole("region", { name: "What it waits for" })).toContainText(/approval.*lint/);
  await open("ask");
  await look(page, "node-asks");
  await main.getByRole("region", { name: "Question" }).getByRole("button", { name: "green" }).click();
  await expect(main.getByRole("region", { name: "Summary" })).toContainText("It is green");
  expect(faults).toEqual([]);
});

const runOf = (page: Page) => /\/runs\/([^/?]+)/.exec(page.url())?.[1] ?? "";

/** The color of a button that asks to be pressed. */
async function panelColor(page: Page): Promise<string> {
  return page.getByRole("button", { name: "Retry failed" }).evaluate((e) => getComputedStyle(e).backgroundColor);
}
