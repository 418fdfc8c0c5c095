import { faultsOf, look } from "./checks";
import { expect, test } from "./organization";

const evil = "<script>window.evil=1</script><img src=x onerror=window.evil=1>";

// A node that writes what is hostile, one that conflicts with it, one that is typed to.
const config = `session: shop
review: required
defaults: {agent: command}
agents:
  - name: api
    agent: scripted
    verify: ["test -e code.txt"]
    task: |
      if test -e binary; then read -r said; echo "$said" > said; git add said; git commit -qm again; cmux done Again; cat > /dev/null; exit; fi
      printf '${evil}\\033]0;title\\007\\033[31mred\\033[0m\\n'
      seq 1 300 | sed 's/^/line /'
      sed -i 's/^line 20$/line twenty ${evil.replaceAll("/", "\\/")}/' code.txt
      printf '\\000\\001' > binary
      echo x > '<b>odd.txt'
      git add -A; git commit -qm 'Change <i>it</i>'
      cmux done '**Bold** ${evil} [link](javascript:window.evil=1)'
      cat > /dev/null
  - {name: other, task: "sed -i 's/^line 20$/line XX/' code.txt; git commit -qam other"}
  - {name: desk, task: "printf '\\\\033]52;c;aGk=\\\\007\\\\033[c\\\\033[6n\\\\033[38;2;200;40;90mcolored\\\\033[0m ${evil} ready\\\\n'; read -r a; echo \\"$a\\" > typed; git add typed; git commit -qm typed"}
`;

test("a node is looked at, typed to, reviewed and merged", async ({ org, page }) => {
  test.setTimeout(180_000); // of a machine that has much to do; else it takes 15 s
  const faults = faultsOf(page);
  org.write({ "code.txt": Array.from({ length: 60 }, (_, i) => `line ${i + 1}\n`).join(""), ".cmux-agents.yml": config });
  org.run("git", "add", "-A");
  org.run("git", "commit", "-qm", "code");
  org.start();
  org.cmux("agents", "start", "--detach", "--yes");
  const [run = ""] = /run-[^\s,]+|\d{8}[-\w]+/.exec(org.cmux("agents", "list")) ?? [];
  const node = (name: string, tab: string) => new URL(`/runs/${run}/nodes/${name}?tab=${tab}`, page.url()).href;

  await test.step("the overview, the log and the prompt are text", async () => {
    await org.open(page, `/runs/${run}/nodes/api`);
    await expect(page.getByText("done", { exact: true }).first()).toBeVisible();
    await expect(page.getByText("test -e code.txt")).toBeVisible();
    await expect(page.getByText("passed", { exact: false }).first()).toBeVisible();
    await look(page, "overview");
    await page.getByRole("tab", { name: "Log" }).click();
    await expect(page.getByRole("list", { name: "Log" }).getByText("line 300")).toBeVisible();
    await page.getByRole("searchbox", { name: "Search the log" }).fill("<script>");
    await expect(page.getByText("found")).toBeVisible();
    await expect(page.locator("mark").first()).toHaveText("<script>");
    await look(page, "log");
    await page.getByRole("tab", { name: "Prompt" }).click();
    await expect(page.getByRole("region", { name: "Task" })).toContainText("<script>window.evil=1</script>");
    await page.getByRole("tab", { name: "Conversation" }).click();
    await expect(page.getByRole("list", { name: "Conversation" }).getByText("Check passed")).toBeVisible();
    await look(page, "conversation");
  });

  await test.step("work is sent back", async () => {
    await page.goto(new URL(`/runs/${run}/review`, page.url()).href);
    await page.getByRole("button", { name: /^other/ }).click();
    await expect(page.getByRole("button", { name: "Drop other" })).toBeVisible();
    await expect(page.getByRole("list", { name: "Changed files" }).getByText("code.txt")).toBeVisible();
    await expect(page.getByRole("button", { name: "Send back" })).toHaveCount(0); // a command reads no comment
    await page.getByRole("button", { name: /^api/ }).click();
    await expect(page.getByRole("button", { name: "Send back" })).toBeVisible();
    await page.keyboard.press("r");
    await page.getByRole("dialog").getByRole("textbox").fill(`Again ${evil}`);
    await look(page, "back");
    await page.getByRole("dialog").getByRole("button", { name: "Send as one message" }).click();
    await expect(page.getByRole("article", { name: "api" }).getByText("2 attempts").first()).toBeVisible();
    expect(org.run("git", "show", "shop/api:said")).toContain(`Again ${evil}`);
    await page.goto(node("api", "changes"));
  });

  await test.step("changes are compared, and a comment is written on a line", async () => {
    await page.getByRole("button", { name: "binary" }).first().click();
    await expect(page.getByText("A binary file")).toBeVisible();
    await page.getByRole("button", { name: /<b>odd.txt/ }).click();
    await page.getByRole("button", { name: /code.txt/ }).click();
    const diff = page.getByRole("list", { name: "Changes of code.txt" });
    await expect(diff.getByText("line twenty")).toContainText("<script>");
    await expect(page.getByText(/^4 files/)).not.toContainText("committed"); // all of it is
    await page.getByRole("button", { name: "Show 40 lines" }).or(page.getByRole("button", { name: /Show \d+ lines/ })).first().click();
    await page.getByRole("button", { name: "Comment on line 20", exact: true }).click();
    const comment = page.getByRole("textbox", { name: "Comment on line 20" });
    await comment.fill("Half a sentence");
    await page.getByRole("button", { name: "Comment on line 21", exact: true }).last().click();
    await expect(comment).toHaveValue("Half a sentence"); // neither a click elsewhere nor a reload throws it away
    await page.reload();
    await page.getByRole("button", { name: /code.txt/ }).click();
    await expect(comment).toHaveValue("Half a sentence");
    await comment.fill(`Why ${evil}?`);
    await page.getByRole("button", { name: "Add comment" }).click();
    await expect(page.getByRole("button", { name: "Send back with 1 comment" })).toBeVisible();
    await look(page, "changes");
    await page.reload();
    await page.getByRole("button", { name: "Send back with 1 comment" }).click();
    await page.getByRole("button", { name: "Send as one message" }).click();
    await expect(page.getByRole("region", { name: "Notices" }).getByText(/The work was sent back/)).toBeVisible();
    await expect(page.getByRole("button", { name: "Send back", exact: true })).toBeVisible(); // nothing is left to send
    // While it is at work there is nothing to review, which cmux calls a failure.
    await expect.poll(() => org.run("sh", "-c", "cmux agents review api --json; true"), { timeout: 30_000 }).toContain('"attempts": 3');
    expect(org.run("git", "show", "shop/api:said")).toContain(`Why ${evil}?`); // the agent read it, in one message
  });

  await test.step("the terminal is taken, typed in and released", async () => {
    await page.goto(node("desk", "terminal"));
    const terminal = page.getByRole("region", { name: "Terminal of desk" });
    const screen = page.getByTestId("screen");
    await expect(screen.locator(".xterm-rows")).toContainText("ready");
    await expect(terminal.getByText("read-only")).toBeVisible();
    await expect(screen.locator(".xterm-rows span").filter({ hasText: "colored" })).toHaveCSS("color", /^rgb\(2\d\d, /);
    await screen.click();
    await page.keyboard.type("never");
    await terminal.getByRole("button", { name: "Take" }).click();
    await expect(terminal.getByText("you type")).toBeVisible();
    await page.keyboard.type("typed <here>");
    await expect(screen.locator(".xterm-rows")).toContainText("typed <here>");
    await look(page, "terminal");
    await terminal.getByRole("button", { name: "Release" }).click();
    await expect(terminal.getByText("read-only")).toBeVisible();
    await terminal.getByRole("button", { name: "Take" }).click();
    await expect(terminal.getByText("you type")).toBeVisible();
    await page.keyboard.press("Enter");
    await expect(page.getByText("done", { exact: true }).first()).toBeVisible();
    // tmux answers what the program asks its terminal; the page's terminal does not answer again.
    // eslint-disable-next-line no-control-regex
    expect(org.run("git", "show", "shop/desk:typed")).toMatch(/^\u001b\[\?[\d;]+c\u001b\[\d+;\d+Rtyped <here>\n$/);
  });

  await test.step("work is approved, a conflict is shown before it happens, and what is approved is merged", async () => {
    await page.goto(new URL(`/runs/${run}/review`, page.url()).href);
    const work = page.getByRole("list", { name: "Work" });
    await work.getByRole("button", { name: /^api/ }).click();
    await expect(page.getByRole("button", { name: "Approve api" })).toBeVisible();
    await look(page, "review");
    for (const name of ["api", "other"]) {
      await work.getByRole("button", { name: new RegExp(`^${name}`) }).click();
      await page.getByRole("button", { name: `Approve ${name}` }).click();
      await expect(work.getByRole("button", { name: `${name} approved` })).toBeVisible(); // at once
      await page.getByRole("button", { name: `Send now: ${name}: approved` }).click();
    }
    await expect.poll(() => org.cmux("agents", "review", "other")).toContain("approved");
    await page.getByRole("tab", { name: "Merge" }).click();
    await expect(page.getByText("conflict", { exact: true })).toBeVisible();
    await expect(page.getByRole("list", { name: "Files in conflict" })).toContainText("code.txt");
    await look(page, "merge");
    await page.getByRole("tab", { name: "To review" }).click();
    await work.getByRole("button", { name: /^other/ }).click();
    await page.getByRole("button", { name: "Drop other" }).click();
    await page.getByRole("button", { name: "Send now: other: dropped" }).click();
    await expect.poll(() => org.cmux("agents", "review", "other")).toContain("dropped");
    await page.getByRole("tab", { name: "Merge" }).click();
    await page.getByRole("button", { name: "Merge", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Merge" }).click();
    await expect(page.getByText(/Into main: .*api/)).toBeVisible();
    await look(page, "merged");
    expect(org.run("git", "show", "main:code.txt")).toContain(`line twenty ${evil}`);
  });
  expect(await page.evaluate(() => (window as { evil?: number }).evil)).toBeUndefined();
  expect(faults).toEqual([]);
});
