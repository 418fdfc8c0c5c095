import { faultsOf, healthy, look } from "./checks";
import { expect, test } from "./organization";

/** An agent that works until somebody ends it, a gate, and what fails. */
const config = `session: shop
main_pane: false
defaults: {agent: scripted, role: build}
agents:
  - {name: write, task: "cat > /dev/null"}
  - {name: approval, role: gate}
  - {name: publish, agent: command, task: "true", depends_on: [approval]}
`;

test("without an organization: who works in a run is listed, keys work beside the graph, and a stopped run stands still", async ({ org, page }) => {
  const faults = faultsOf(page);
  org.write({ ".cmux-agents.yml": config });
  org.run("git", "add", "-A");
  org.run("git", "commit", "-qm", "graph");
  org.cmux("agents", "start", "--yes", "--detach");
  await page.goto(org.cmux("agents", "open", "--print").trim());
  await page.waitForURL((url) => url.pathname === "/");

  // Settings offer what is missing, and no command.
  await page.getByRole("link", { name: "Settings" }).click();
  await expect(page.getByText("There is no organization yet")).toBeVisible();
  await expect(page.getByRole("button", { name: "Start the organization" })).toBeVisible();
  await expect(page.getByText("cmux start")).toHaveCount(0);
  await healthy(page, "settings-without");

  // Agents: the run's.
  await page.getByRole("link", { name: "Agents", exact: true }).click();
  const works = page.getByRole("region", { name: "Run shop" });
  await expect(works.getByRole("link", { name: "write" })).toBeVisible();
  await expect(works.getByRole("listitem")).toHaveCount(1);
  await healthy(page, "agents-without");
  await look(page, "agents-without");

  // Keys: the list of them; what is written in a field is no key.
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keys" })).toContainText("Ctrl+K");
  await healthy(page, "keys");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.getByLabel("Find an agent").press("?");
  await expect(page.getByRole("dialog")).toHaveCount(0);

  // Beside the graph: a approves, Escape closes.
  await works.getByRole("link", { name: "shop" }).click();
  const graph = page.getByRole("group", { name: "Graph of the run" });
  await graph.getByRole("button", { name: /^approval/ }).click();
  const panel = page.getByRole("complementary", { name: "Node approval" });
  await expect(panel.getByRole("button", { name: "Approve" })).toBeVisible();
  await expect(async () => {
    await page.keyboard.press("a"); // a key for the node before does nothing: it has to stand there for a moment
    await expect(graph.getByRole("button", { name: /^approval.* done/ })).toBeVisible({ timeout: 1000 });
  }).toPass();
  await page.keyboard.press("Escape");
  await expect(panel).toHaveCount(0);

  // Stopped: one word, one button that asks to be pressed, and a time that stands.
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await expect(page.getByRole("dialog").getByRole("button", { name: "Cancel" })).toBeFocused(); // before something bad
  await page.getByRole("dialog").getByRole("button", { name: "Stop the run" }).click();
  await expect(page.getByRole("button", { name: "Resume" })).toBeVisible();
  await expect(graph.getByRole("button", { name: /^write stopped/ })).toBeVisible();
  await expect(page.getByRole("button", { name: "Retry failed" })).toHaveCount(0);
  await expect(page.getByText("failed")).toHaveCount(0);
  await expect(page.getByText("cmux agents resume")).toHaveCount(0);
  await expect(page.getByText(/^took /)).toBeVisible();
  await healthy(page, "run-stopped");
  await look(page, "run-stopped");
  expect(faults).toEqual([]);
});
