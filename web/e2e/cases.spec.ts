/*
 * The kinds of the inbox that inbox.spec.ts has none of: each is decided by button and by
 * key, and on a telephone.
 */
import type { Page } from "@playwright/test";

import { faultsOf, look } from "./checks";
import { expect, test, type Organization } from "./organization";

const list = (page: Page) => page.getByRole("list", { name: "What waits for you" });
const row = (page: Page, name: string) => list(page).getByRole("link", { name: new RegExp(`^${name}(,|$)`) });
const theCase = (page: Page, name: string) => page.getByRole("region", { name, exact: true });

/** Opens a case by its row. */
async function open(page: Page, kind: string, name: string) {
  await row(page, `${kind} ${name}`).click();
  const region = theCase(page, name);
  await expect(region).toBeVisible();
  return region;
}

/** Decides about the case in view by a button, and does not wait until it can no longer be undone. */
async function press(page: Page, name: string, button: string): Promise<void> {
  await theCase(page, name).getByRole("button", { name: button }).click();
  await sendNow(page, name);
}

/** The same by a key. */
async function strike(page: Page, name: string, key: string): Promise<void> {
  await page.keyboard.press(key);
  await sendNow(page, name);
}

async function sendNow(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: `Send now: ${name}` }).click();
}

const telephone = { width: 360, height: 740 };

/** An agent that writes pages, and asks about doors. */
const worker = `echo '{}' | cmux hook turn-ended
while read -r line; do
  case $line in
  *'write: '*)
    name=\${line#*write: } name=\${name%% *}
    printf '# The page %s\\n' "$name" > "$name.md"
    git add "$name.md" && git commit -qm "Page $name" && cmux done "Page **$name** is written." ;;
  *'paint: '*) cmux blocked 'Which color is the door?' ;;
  *' from="user" '*) echo "$line" >> "$CMUX_ROOT/told" ;;
  esac
  echo '{}' | cmux hook turn-ended
done
`;

/** How the tasks stand, by their ids. */
function states(org: Organization): Record<string, string> {
  const { tasks } = JSON.parse(org.cmux("tasks", "list", "--all", "--json")) as { tasks: { id: string; label: string; merged: unknown }[] };
  return Object.fromEntries(tasks.map((t) => [t.id, t.merged ? "merged" : t.label]));
}

test("finished and blocked tasks and an incident are decided in the inbox", async ({ org, page }) => {
  const faults = faultsOf(page);
  org.unfence();
  org.start(worker);
  org.write({ ".cmux/config.yml": "supervisor: {agent: scripted}\nhealth: {command: test ! -e broken, every: 1s}\n" });
  org.cmux("config", "apply", "--yes");
  org.cmux("workers", "spawn", "painter");
  const give = (title: string, body: string) => {
    const id = /^(t\d+):/.exec(org.cmux("tasks", "add", title, body))?.[1] ?? "";
    org.cmux("tasks", "assign", id, "painter");
    return id;
  };
  const [one, two, three] = ["one", "two", "three"].map((n) => give(`Write page ${n}`, `write: ${n} `));
  const [front, back, side] = ["front", "back", "side"].map((n) => give(`Paint the ${n} door`, `paint: ${n} `));
  await org.open(page);
  await expect(list(page).getByRole("listitem")).toHaveCount(6); // and no message beside: each is one thing that waits

  // A finished task that nobody merged: its summary and changes, and the merge.
  const merge = await open(page, "Merge", "Write page one");
  await expect(merge.getByRole("region", { name: "Summary" }).locator("strong")).toHaveText("one");
  await expect(merge.getByText("added: # The page one")).toBeVisible();
  await look(page, "case-merge");
  await page.keyboard.press("r");
  await expect(page.getByRole("dialog").getByRole("textbox")).toBeVisible(); // what the agent should do
  await page.keyboard.press("Escape");
  await press(page, "Write page one", "Merge task");
  await expect.poll(() => states(org)[one ?? ""]).toBe("merged");
  await open(page, "Merge", "Write page two");
  await strike(page, "Write page two", "a");
  await expect.poll(() => states(org)[two ?? ""]).toBe("merged");
  expect(org.read("one.md") + org.read("two.md")).toBe("# The page one\n# The page two\n");

  // A blocked task: what its agent wants to know, and the answer with which it begins again.
  const task = await open(page, "Task", "Paint the front door");
  await expect(task.getByRole("region", { name: "Why it waits" })).toContainText("Which color is the door?");
  await look(page, "case-task");
  await task.getByRole("textbox", { name: "Answer painter" }).fill("Green, please");
  await task.getByRole("button", { name: "Answer", exact: true }).click();
  await sendNow(page, "Paint the front door");
  await expect.poll(() => org.run("sh", "-c", "cat told; true")).toContain("Green, please");
  await expect.poll(() => (JSON.parse(org.cmux("tasks", "show", front ?? "", "--json")) as { attempts: unknown[] }).attempts.length).toBe(2);
  await open(page, "Task", "Paint the back door");
  await strike(page, "Paint the back door", "o");
  await expect.poll(() => states(org)[back ?? ""]).toMatch(/^done/);

  // An incident: its evidence; it is open again after it was closed, as its cause is not gone.
  org.write({ broken: "" });
  org.run("git", "add", "-A");
  org.run("git", "commit", "-qm", "Break it");
  const name = "the project is not healthy: test ! -e broken";
  const incident = await open(page, "Incident", name);
  await expect(incident.getByRole("region", { name: "Evidence" })).toContainText("test ! -e broken");
  await look(page, "case-incident");
  const again = async () => {
    await expect(row(page, `Incident ${name}`)).toHaveCount(0);
    await expect.poll(() => org.cmux("incidents", "list")).toContain("acked");
    org.cmux("incidents", "ack", "i1", "--close");
  };
  await press(page, name, "Acknowledge");
  await again();
  await open(page, "Incident", name);
  await strike(page, name, "a");
  await again();

  await page.setViewportSize(telephone);
  await page.goto(new URL("/", page.url()).href);
  for (const [kind, what, button, id, want] of [
    ["Incident", name, "Acknowledge", "", ""],
    ["Merge", "Write page three", "Merge task", three, /^merged/],
    ["Task", "Paint the side door", "Cancel task", side, /^cancelled/],
  ] as const) {
    await open(page, kind, what);
    await press(page, what, button);
    await expect(theCase(page, what)).toHaveCount(0);
    await expect(row(page, `${kind} ${what}`)).toHaveCount(0);
    if (want !== "") {
      await expect.poll(() => states(org)[id ?? ""]).toMatch(want);
    }
  }
  await expect.poll(() => org.cmux("incidents", "list")).toContain("acked");
  expect(faults).toEqual([]);
});

/** An agent that says that it is done once, and then only ends its turns. */
const baker = `echo '{}' | cmux hook turn-ended
while read -r line; do
  case $line in
  *'bake: '*)
    echo cake > cake
    git add cake && git commit -qm 'Bake a cake'
    cmux done 'The cake is baked.' ;;
  *spoon*) echo "$line" >> "$CMUX_ROOT/told" ;;
  esac
  echo '{}' | cmux hook turn-ended
done
`;

test("an agent that stopped without a report: its task, the check that fails, and a new attempt with the checks of now", async ({ org, page }) => {
  const faults = faultsOf(page);
  org.unfence();
  org.start(baker);
  const verify = (command: string) => {
    org.write({ ".cmux/config.yml": `supervisor: {agent: scripted}\nverify: ["${command}"]\n` });
    org.cmux("config", "apply", "--yes");
  };
  verify("ls oven");
  org.cmux("workers", "spawn", "baker");
  const give = (title: string, ...more: string[]) => {
    const id = /^(t\d+):/.exec(org.cmux("tasks", "add", title, "bake: it", ...more))?.[1] ?? "";
    org.cmux("tasks", "assign", id, "baker");
    return id;
  };
  const sell = give("Sell cake");
  await org.open(page);
  const silent = await open(page, "No report", "baker");
  await expect(silent.getByText("baker ended 4 turns without a report.")).toBeVisible();
  const its = silent.getByRole("region", { name: "Its task" });
  await expect(its.getByRole("link", { name: `${sell} Sell cake` })).toBeVisible();
  await expect(its.getByText("ls oven")).toBeVisible();
  await expect(its).toContainText("No such file or directory");
  await expect(its.getByText("Its checks are those of when it was given")).toHaveCount(0);
  await look(page, "case-no-report");

  // Other checks do not reach the work that is under way: the case and the task's page say so.
  verify("ls cake");
  await expect(its.getByText("Its checks are those of when it was given: ls oven. The checks are now: ls cake.")).toBeVisible();
  await its.getByRole("link", { name: `${sell} Sell cake` }).click();
  await expect(page.getByText("Its checks are those of when it was given: ls oven. The checks are now: ls cake.")).toBeVisible();
  await page.getByRole("button", { name: "Assign again" }).click();
  await expect.poll(() => states(org)[sell]).toMatch(/^done/);

  // What a person writes reaches the agent, and its task is cancelled by key.
  const eat = give("Eat cake", "--verify", "ls fork");
  await page.goto(new URL("/", page.url()).href);
  await open(page, "No report", "baker");
  await theCase(page, "baker").getByRole("textbox", { name: "Message to baker" }).fill("Take a spoon");
  await theCase(page, "baker").getByRole("button", { name: "Send" }).click();
  await sendNow(page, "baker");
  await expect.poll(() => org.run("sh", "-c", "cat told; true")).toContain("Take a spoon");
  await open(page, "No report", "baker");
  await strike(page, "baker", "d");
  await expect.poll(() => states(org)[eat]).toMatch(/^cancelled/);
  expect(faults).toEqual([]);
});

/** An account that meets its limit whenever it is tried, twice; and three pairs of branches that change one line. */
const run = `session: shop
main_pane: false
review: required
agents:
  - name: api
    agent: scripted
    role: review
    account: one
    task: |
      for i in 1 2 3; do
        echo '{"until": "'$(cat "$CMUX_ROOT/until")'", "text": "resets <b>tomorrow</b>"}' | cmux hook limited
        read -r line
        echo '{}' | cmux hook resumed
        until test -e "$CMUX_ROOT/again-$i"; do sleep 0.1; done
      done
      cmux done "It works after $i limits"
      cat > /dev/null
  - {name: held, agent: scripted, role: review, account: one, depends_on: [first], task: "cmux done ok; cat > /dev/null"}
  - {name: first, agent: command, role: review, task: "true"}
${["left", "right", "up", "down", "in", "out"].map((n, i) => `  - {name: ${n}, agent: command, task: "echo ${n} > ${Math.floor(i / 2)}.txt; git commit -qam '${n}'"}`).join("\n")}
`;

test("a limit is tried again, and of branches in conflict one is dropped", async ({ org, page }) => {
  const faults = faultsOf(page);
  org.write({ ".cmux-agents.yml": run, "0.txt": "middle\n", "1.txt": "middle\n", "2.txt": "middle\n", until: new Date(Date.now() + 20 * 3_600_000).toISOString() });
  org.run("git", "add", "-A");
  org.run("git", "commit", "-qm", "code");
  org.start();
  org.cmux("agents", "start", "--yes", "--detach");
  const label = (node: string) => (JSON.parse(org.cmux("agents", "status", "--json")) as { nodes: { name: string; label: string }[] }).nodes.find((n) => n.name === node)?.label ?? "";
  await org.open(page);

  const limit = await open(page, "Limit", "scripted one");
  await expect(limit.getByText("resets <b>tomorrow</b>")).toBeVisible();
  await expect(limit.getByText("2 nodes wait for the account: api, held")).toBeVisible();
  await look(page, "case-limit");

  const tries = async (i: number) => {
    await expect.poll(() => label("api")).toBe("running");
    org.write({ [`again-${i}`]: "" }); // it is met again
  };
  await press(page, "scripted one", "Try now");
  await tries(1);
  await expect.poll(() => label("api")).toContain("limited");
  await open(page, "Limit", "scripted one");
  await strike(page, "scripted one", "r");
  await tries(2);
  await expect.poll(() => label("api")).toContain("limited");

  // A conflict: both changes beside each other.
  const conflict = await open(page, "Conflict", "left, right");
  await expect(conflict.getByRole("list", { name: "Files in conflict" })).toHaveText("0.txt");
  await expect(conflict.getByRole("region", { name: "Changes of left" }).getByText("added: left")).toBeVisible();
  await expect(conflict.getByRole("region", { name: "Changes of right" }).getByText("added: right")).toBeVisible();
  await look(page, "case-conflict");
  const drops = async (name: string, node: string) => {
    await expect.poll(() => org.cmux("agents", "review", node)).toContain("dropped");
    await expect(row(page, `Conflict ${name}`)).toHaveCount(0);
  };
  await press(page, "left, right", "Drop left");
  await drops("left, right", "left");
  await open(page, "Conflict", "up, down");
  await strike(page, "up, down", "2");
  await drops("up, down", "down");

  await page.setViewportSize(telephone);
  await page.goto(new URL("/", page.url()).href);
  await open(page, "Limit", "scripted one");
  await press(page, "scripted one", "Try now");
  await tries(3);
  await expect.poll(() => label("held")).toBe("done");
  await open(page, "Conflict", "in, out");
  await press(page, "in, out", "Drop out");
  await drops("in, out", "out");
  expect(faults).toEqual([]);
});
