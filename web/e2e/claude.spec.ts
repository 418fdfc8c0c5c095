import { faultsOf, look } from "./checks";
import { startModel } from "./model";
import { expect, test } from "./organization";

/** What the model says. Claude Code is real, and so are the tools that it calls. */
const script = `scripts:
  - name: painter
    match: Paint the door
    turns:
      - - thinking: "Which color <script>window.evil=1</script> is **not** told."
        - text: "I ask <b>first</b>."
        - tool:
            name: AskUserQuestion
            input:
              questions:
                - question: "Which color <i>now</i>?"
                  header: Color
                  multiSelect: false
                  options: [{label: Red, description: like fire}, {label: Blue, description: like the sea}]
      - - report: "nothing was needed: the door is **blue**"
      - - text: It is blue already.
`;

test("Claude Code asks in the page, is answered there, and ends", async ({ org, page }) => {
  test.setTimeout(180_000); // of a machine that has much to do; else it takes 15 s
  const faults = faultsOf(page);
  const model = await startModel(org, script);
  try {
    org.write({
      ".cmux-agents.yml": "session: house\nagents:\n  - {name: painter, agent: claude, task: Paint the door}\n",
    });
    org.run("git", "add", "-A");
    org.run("git", "commit", "-qm", "house");
    org.start();
    await org.open(page, "/runs");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Start the run" }).click();

    // What it says comes by itself.
    const graph = page.getByRole("group", { name: "Graph of the run" });
    await expect(graph.getByRole("button", { name: /^painter.* needs input/ })).toBeVisible({ timeout: 60_000 });
    await page.goto(`${page.url()}/nodes/painter?tab=conversation`);
    const said = page.getByRole("list", { name: "Conversation" });
    await expect(said.getByRole("article", { name: "To the agent" }).first()).toContainText("Paint the door");
    await expect(said.getByRole("article", { name: "Thoughts" })).toContainText("Which color <script>window.evil=1</script> is not told.");
    await expect(said.getByRole("article", { name: "Question" })).toContainText("Which color <i>now</i>?");
    await look(page, "claude");
    await page.getByRole("tab", { name: "Overview" }).click();
    await page.getByRole("button", { name: /^Blue/ }).click();
    await page.getByRole("tab", { name: "Conversation" }).click();
    await expect(said.getByRole("article", { name: "Answer" }).first()).toContainText("Blue");
    await expect(said.getByRole("article", { name: "Report: done" })).toContainText("the door is blue");
    await page.getByRole("tab", { name: "Overview" }).click();
    await expect(page.getByText("done", { exact: true }).first()).toBeVisible();
    expect(org.cmux("agents", "logs", "painter")).toContain("Blue"); // Claude Code was told

    // What it thought stands with what all agents think, and a call of a tool is read as in its conversation.
    await page.goto(new URL("/activity?tab=thoughts", page.url()).href);
    const thoughts = page.getByRole("list", { name: "Thoughts, newest first" });
    await expect(thoughts.getByRole("article")).toContainText("Which color <script>window.evil=1</script> is not told.");
    await expect(thoughts.getByRole("article").getByText("painter", { exact: true })).toBeVisible();
    await look(page, "thoughts");
    await page.goto(new URL("/activity?kind=tool_use", page.url()).href);
    await page.getByRole("listitem").getByRole("button", { name: /AskUserQuestion/ }).click();
    await expect(page.getByRole("dialog").getByText("Which color <i>now</i>?").first()).toBeVisible();
    await expect(page.getByRole("dialog").getByText("As the log has it")).toBeVisible();
    await look(page, "event");
  } finally {
    model.kill();
  }
  expect(await page.evaluate(() => (window as { evil?: number }).evil)).toBeUndefined();
  expect(faults).toEqual([]);
});
