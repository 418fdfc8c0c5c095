import type { Locator, Page } from "@playwright/test";

import { healthy } from "./checks";
import { expect, test, type Organization } from "./organization";

/** Text that does harm where it is taken for anything else. */
const hostile = `<img src=x onerror="window.hurt=1"><script>window.hurt=2</script> [run](javascript:window.hurt=3)`;

/** An agent that answers each message of the person. */
const talker = `echo '{}' | cmux hook turn-ended
while read -r line; do
  case $line in
  *' from="user" subject="rest"'*) echo '{"until": "2099-01-01T00:00:00Z"}' | cmux hook limited; continue ;;
  *' from="user" '*)
    echo '{"used": {"input": 6000, "output": 410, "cache_read": 9000}}' | cmux hook usage
    cmux mailbox send user "Heard you" '**Yes.** ${hostile}' ;;
  esac
  echo '{}' | cmux hook turn-ended
done
`;

/** Where pictures of all that is walked go. */
const pictures = process.env.CMUX_PICTURES;

test.setTimeout(300_000); // on a machine that does much else

/** All that a page is blamed for: errors, and what the policy refused. */
function blame(page: Page): string[] {
  const faults: string[] = [];
  page.on("console", (m) => m.type() === "error" && !/net::ERR_|WebSocket connection|status of 400/.test(m.text()) && faults.push(m.text()));
  page.on("pageerror", (e) => faults.push(e.message));
  return faults;
}

/** The page has no fault of accessibility, keeps to its width also on a phone, and ran nothing that it was shown. */
async function sound(page: Page, name: string): Promise<void> {
  await healthy(page, name);
  for (const [width, height] of [[360, 740], [1440, 900]] as const) {
    await page.setViewportSize({ width, height });
    const wide = () => page.evaluate(() =>
      [document.documentElement, ...document.querySelectorAll("main, main [role=tabpanel], section[aria-labelledby=page-title] > *, [role=dialog] > *")].filter((e) => e.scrollWidth > e.clientWidth && e.clientWidth > 0).map((e) => `${e.tagName} ${e.className}`).join("; "),
    );
    await expect.poll(wide, `${name} is as wide as the window of ${width}`).toBe("");
    for (const colorScheme of pictures === undefined ? [] : (["light", "dark"] as const)) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.screenshot({ path: `${pictures}/${name}-${width}-${colorScheme}.png` });
      await page.emulateMedia({ colorScheme: null, reducedMotion: "reduce" });
    }
  }
  expect.soft(await page.evaluate(() => "hurt" in window), `${name} ran what it was shown`).toBe(false);
}

/** Whether the keyboard comes to each of these in a round through the page. */
async function reaches(page: Page, ...wanted: Locator[]): Promise<void> {
  const left = new Set(wanted);
  await page.locator("body").press("Tab");
  for (let i = 0; i < 80 && left.size > 0; i++) {
    for (const w of left) {
      if (await w.evaluate((e) => e === document.activeElement)) {
        left.delete(w);
      }
    }
    await page.keyboard.press("Tab");
  }
  expect([...left].map(String)).toEqual([]);
}

async function begin(org: Organization, page: Page, path: string): Promise<(path: string) => Promise<void>> {
  await page.addInitScript(() => localStorage.setItem("cmux-first-steps-seen", "1"));
  await org.open(page, path);
  return async (to) => {
    await page.goto(new URL(to, page.url()).href);
  };
}

/** Drags by the mouse as a hand does: onto the middle of what is there when it comes. */
async function drag(page: Page, from: Locator, to: Locator): Promise<void> {
  await from.hover();
  await page.mouse.down();
  const box = await to.boundingBox();
  const [x, y] = [(box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + 100];
  await page.mouse.move(x - 5, y - 5, { steps: 3 });
  await page.mouse.move(x, y, { steps: 2 });
  await page.mouse.up();
}

test("agents, chat and tasks: spawned, told, assigned, dragged and cancelled from the page alone", async ({ org, page }) => {
  org.start(talker);
  const faults = blame(page);
  const to = await begin(org, page, "/agents");
  const main = page.getByRole("main");
  await expect(main.getByRole("link", { name: "supervisor" })).toBeVisible();
  await page.getByRole("button", { name: "Spawn" }).click();
  await page.getByLabel("Name", { exact: true }).fill("api");
  await page.getByRole("dialog").getByRole("button", { name: "Spawn" }).click();
  await expect(main.getByRole("link", { name: "api" })).toBeVisible();
  await expect(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: /^api/ })).toBeVisible();
  await sound(page, "agents");
  await reaches(page, main.getByRole("link", { name: "api" }), page.getByRole("button", { name: "Actions for api" }));
  await page.getByRole("tab", { name: "List" }).click();
  await expect(main.getByRole("row", { name: /api/ })).toBeVisible();
  await sound(page, "agents-list");

  // A message to the supervisor, and its answer.
  await to("/chat");
  const input = page.getByLabel("Message to supervisor");
  await input.fill(`Hello **you**\n${hostile}`);
  await page.reload(); // what is typed outlives it
  await expect(input).toHaveValue(`Hello **you**\n${hostile}`);
  await input.click(); // a field that is drawn, not yet seen, would not take the key
  await input.press("Enter");
  const line = page.getByRole("list", { name: "Conversation with supervisor" });
  await expect(line.getByText("Hello **you**")).toHaveCount(1);
  await expect(line.getByText("read", { exact: true }).first()).toBeVisible();
  await expect(line.getByText("Heard you").first()).toBeVisible();
  await expect(line.getByText("window.hurt=2").first()).toBeVisible();
  await sound(page, "chat");

  // A long chat opens at its newest and stays there, unless the person scrolls; what is sent is in view.
  const latest = page.getByRole("button", { name: "Jump to latest" });
  await input.fill(Array.from({ length: 80 }, (_, i) => `This is line ${i + 1}`).join("\n"));
  await input.press("Control+Enter");
  await expect(line.getByText("This is line 80")).toBeVisible();
  await expect(line.getByText("Heard you")).toHaveCount(2);
  await page.reload();
  const atEnd = () => line.evaluate((e) => e.scrollHeight > e.clientHeight && e.scrollHeight - e.scrollTop - e.clientHeight < 2);
  await expect.poll(atEnd).toBe(true);
  await expect(latest).toHaveCount(0);
  await line.hover();
  await page.mouse.wheel(0, -600);
  await expect(latest).toBeVisible();
  await latest.click();
  await expect.poll(atEnd).toBe(true);
  await expect(latest).toHaveCount(0);

  await to("/tasks");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByLabel("Title").fill(`Mend ${hostile}`);
  await page.getByRole("dialog").getByRole("button", { name: "Add", exact: true }).click();
  const open = page.getByRole("region", { name: /^Open, 1/ });
  await expect(open.getByText("window.hurt=1")).toBeVisible();
  await sound(page, "tasks");

  // By the keyboard: the menu has what a drop does.
  await open.getByRole("button", { name: "Actions for t1" }).press("Enter");
  await page.getByRole("menuitem", { name: "Assign task…" }).press("Enter");
  await page.getByLabel("Agent", { exact: true }).selectOption("api");
  await page.getByRole("dialog").getByRole("button", { name: "Assign" }).press("Enter");
  const working = page.getByRole("region", { name: /^Working, 1/ });
  await expect(working.getByRole("button", { name: "Actions for t1" })).toBeVisible();

  // The task is pinned above the inbox of the agent that has it.
  await to("/chat/api");
  await expect(page.getByRole("region", { name: "Its task" }).getByRole("link", { name: /t1 Mend/ })).toBeVisible();
  await sound(page, "chat-pinned");

  // By a drop, where an order exists; Open takes none.
  await to("/tasks");
  await drag(page, working.getByText("window.hurt=1"), page.getByRole("region", { name: /^Open,/ }));
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await drag(page, working.getByText("window.hurt=1"), page.getByRole("region", { name: /^Cancelled,/ }));
  await page.getByRole("dialog").getByRole("button", { name: "Cancel task" }).click();
  await expect(page.getByRole("region", { name: /^Cancelled, 1/ })).toBeVisible();
  await to("/tasks/t1");
  await expect(page.getByRole("heading", { name: /t1 Mend/ })).toBeVisible();
  await sound(page, "task");

  await to("/agents/api");
  await expect(page.getByRole("heading", { name: "api" })).toBeVisible();
  await sound(page, "agent");
  await to("/agents/supervisor?tab=inbox");
  await expect(page.getByRole("list", { name: "Inbox of supervisor" }).getByText("Hello **you**")).toBeVisible();
  await sound(page, "agent-inbox");
  await page.getByRole("tab", { name: "Terminal" }).click();
  await expect(page.getByRole("main").locator(".xterm-screen, .xterm")).not.toHaveCount(0);
  await sound(page, "agent-terminal");
  expect(faults).toEqual([]);
});

test("activity, health, budget, plans, explorer, projects and settings are drawn, live and sound", async ({ org, page, context }) => {
  org.start(talker);
  org.write({
    "notes/<img src=x onerror=alert(1)>.md": `# Heading\n\n${hostile}\n`,
    "MEMORY.md": `# What is known\n\n${hostile}\n`,
    ".cmux/config.yml": "supervisor: {agent: scripted}\nmax_standing: 3\nhealth: {command: test ! -e broken, every: 1s}\n",
  });
  const faults = blame(page);
  const to = await begin(org, page, "/activity");
  await expect(page.getByText("Nothing happened yet")).toBeVisible();
  org.cmux("tasks", "add", `live ${hostile}`);
  await expect(page.getByRole("listitem").getByText("added the task").first()).toBeVisible();
  await sound(page, "activity");
  await page.getByLabel("Where").selectOption("tasks");
  await expect(page.getByRole("list", { name: "What happened, newest first" }).getByRole("article")).toHaveCount(1);
  await page.getByRole("button", { name: /^Event \d+ as the log has it$/ }).click();
  await expect(page.getByRole("dialog").getByText("window.hurt=1")).toBeVisible();
  await page.keyboard.press("Escape");
  await page.getByLabel("Where").selectOption("");
  await page.getByRole("tab", { name: "Time line" }).click();
  await expect(page.getByRole("img", { name: /^tasks: / })).toBeVisible();
  await expect(page.locator("[data-tick]").filter({ hasText: /^\d\d:\d\d/ })).toHaveCount(4); // times between the two ends
  await sound(page, "activity-timeline");
  await page.getByRole("tab", { name: "Events" }).click();
  await expect(page.getByRole("listitem").getByText("add live").first()).toBeVisible();
  await sound(page, "activity-events");
  await page.getByRole("tab", { name: "Thoughts" }).click();
  await expect(page.getByText("No thoughts yet")).toBeVisible();
  await sound(page, "thoughts");

  await to("/health");
  await expect(page.getByText("Heartbeat", { exact: true })).toBeVisible();
  await sound(page, "health");
  for (const [tab, seen] of [
    ["Incidents", page.getByText("There is no open incident")],
    ["Recovery", page.getByRole("button", { name: "Dry run" })],
    ["Morning report", page.getByText("What waits for you")],
    ["Doctor", page.getByRole("button", { name: "Look again" })],
  ] as const) {
    await page.getByRole("tab", { name: tab }).click();
    await expect(seen).toBeVisible();
    await sound(page, tab.toLowerCase().replace(" ", "-"));
  }

  await to("/budget");
  await expect(page.getByText("No account has met a limit.")).toBeVisible();
  org.cmux("mailbox", "send", "supervisor", "Hello", "What is there to do?");
  await expect(page.locator(".uplot canvas")).toBeVisible();
  await expect(page.getByText(/^Tokens over time by agent: supervisor /)).toHaveCount(1);
  org.cmux("mailbox", "send", "supervisor", "rest", "Until the limit is over.");
  await expect(page.getByText("1 Jan 2099", { exact: false })).toBeVisible();
  await sound(page, "budget");

  await to("/plans"); // the former page of what is now a tab of others
  await page.getByRole("button", { name: "Schedule a task or a message" }).click();
  await page.getByLabel("Title").fill("Look at the tests");
  await page.getByLabel("Times").selectOption("every");
  await page.getByLabel("When").fill("2h");
  await page.getByRole("dialog").getByRole("button", { name: "Add", exact: true }).click();
  await expect(page.getByText("Look at the tests")).toBeVisible();
  await sound(page, "schedule");
  await expect(page).toHaveURL(/\/tasks\?tab=schedule$/);
  await to("/plans?tab=locks");
  await page.getByLabel("Name of a lock").fill("port");
  await page.getByRole("button", { name: "Take" }).click();
  await expect(page.getByText("held by user")).toBeVisible();
  await sound(page, "locks");
  await page.getByRole("button", { name: "Release" }).click();
  await expect(page.getByText("No lock is held")).toBeVisible();
  for (const [tab, seen] of [
    ["teams", page.getByRole("region", { name: "Teams" })],
    ["alerts", page.getByRole("button", { name: "Send a test alert" })],
    ["maintenance", page.getByRole("tab", { name: "Maintenance", selected: true })],
  ] as const) {
    await to(`/plans?tab=${tab}`);
    await expect(seen).toBeVisible();
    await sound(page, tab);
  }

  await to("/explorer");
  await expect(page.getByRole("region", { name: "Viewer" }).getByText("What is known")).toBeVisible();
  await sound(page, "memory");
  await page.getByRole("button", { name: "notes" }).click();
  await page.getByRole("button", { name: /onerror=alert/ }).click();
  await expect(page.getByText("Heading")).toBeVisible();
  await page.getByRole("button", { name: "Add an entry" }).click();
  await page.getByLabel("Title").fill(`A day ${hostile}`);
  await page.getByRole("dialog").getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("button", { name: "journal.md" }).click();
  await expect(page.getByRole("region", { name: "Viewer" }).getByText("A day")).toBeVisible();
  await sound(page, "explorer");

  // What was dragged wide stays so.
  const separator = page.getByRole("separator").first();
  const files = page.getByRole("region", { name: "Files", exact: true });
  const width = async () => (await files.boundingBox())?.width ?? 0;
  const before = await width();
  await separator.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await expect.poll(width).toBeGreaterThan(before + 100);
  await page.reload();
  await expect.poll(width).toBeGreaterThan(before + 100);

  await to("/settings");
  await expect(page.getByRole("region", { name: "What the file changes" }).getByText("max_standing")).toBeVisible();
  await sound(page, "settings");
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
  await expect(page.getByText("The active configuration is what the file says.")).toBeVisible();
  await expect(page.getByRole("row", { name: /max_standing/ })).toBeVisible();

  // The check fails: an incident, which is known, and then closed by hand. As the
  // check fails every second, it is open again soon, and new to who closed it.
  org.write({ broken: `${hostile}\n` });
  org.run("git", "add", "broken");
  org.run("git", "commit", "-qm", `Break it ${hostile}`);
  await to("/health?tab=incidents");
  const incident = page.getByRole("listitem").getByRole("button", { name: /the project is not healthy: test ! -e broken/ });
  await expect(incident).toContainText("open", { timeout: 60_000 });
  await sound(page, "incident-list");
  await incident.click();
  await expect(page.getByRole("dialog").getByText("Evidence")).toBeVisible();
  await sound(page, "incident");
  await page.getByRole("button", { name: "I know" }).click();
  await page.getByLabel("Note").fill("it is I");
  await page.getByRole("button", { name: "I know" }).last().click();
  await expect(page.getByRole("dialog").getByText(/^Known to user since .*: it is I$/)).toBeVisible();
  await page.getByRole("button", { name: "Close it" }).click();
  await page.getByRole("dialog", { name: "Close this incident" }).getByRole("button", { name: "Close it" }).click();
  await expect(page.getByRole("region", { name: "Notices" }).getByText("It is closed.")).toBeVisible();
  await expect(page.getByRole("dialog").getByRole("button", { name: "I know" })).toBeVisible();
  await page.keyboard.press("Escape");
  await to("/settings");
  await page.getByLabel("Theme", { exact: true }).selectOption("dark");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.getByLabel("Theme", { exact: true }).selectOption("system");

  // The density: each page has lower rows and smaller letters, and the browser keeps it.
  const measures = () =>
    page.evaluate(() => {
      const title = document.querySelector("#page-title");
      const letters = [title, document.querySelector("main a, main button, main label")].map((e) => (e ? parseFloat(getComputedStyle(e).fontSize) : NaN));
      const heights = ["nav[aria-label=Pages] li", "main button, main a, main select", "footer"].map((of) => document.querySelector(of)?.getBoundingClientRect().height ?? NaN);
      return [...letters, ...heights, title?.closest("header")?.getBoundingClientRect().height ?? NaN];
    });
  const measured = new Map<string, number[]>();
  const all = ["/", "/runs", "/agents", "/tasks", "/health", "/budget", "/settings"];
  for (const path of all) {
    await to(path);
    await expect.poll(async () => (await measures()).every(Number.isFinite), path).toBe(true);
    measured.set(path, await measures());
  }
  await page.getByLabel("Density").selectOption("dense");
  await expect(page.locator("html")).toHaveAttribute("data-density", "dense");
  await page.reload();
  for (const path of all) {
    await to(path);
    await expect(page.locator("html")).toHaveAttribute("data-density", "dense");
    await expect.poll(async () => (await measures()).every((n, i) => n < (measured.get(path)?.[i] ?? 0)), path).toBe(true);
  }
  await sound(page, "settings-dense");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Find a page, a thing or a command" }).fill("comfortable");
  await page.getByRole("option", { name: "Use the comfortable layout" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-density", "comfortable");
  await to("/projects");
  await page.getByRole("button", { name: "Register a project" }).click();
  await page.getByLabel("Folder").fill("/nowhere/at/all");
  await page.getByRole("dialog").getByRole("button", { name: "Register" }).click();
  await expect(page.getByRole("region", { name: "Notices" }).getByText("there is no folder")).toBeVisible();
  await sound(page, "projects-refused");
  // A notice is closed beside the dialog, and what was typed stays.
  await page.getByRole("region", { name: "Notices" }).getByRole("button", { name: "Close" }).first().click();
  await expect(page.getByLabel("Folder")).toHaveValue("/nowhere/at/all");
  await page.keyboard.press("Escape");
  await sound(page, "projects");
  await to("/first-steps");
  await expect(page.getByRole("main").getByRole("listitem").first()).toBeVisible();
  await sound(page, "first-steps");

  // Every command by the palette; one that ends something asks first.
  await page.keyboard.press("Control+k");
  const palette = page.getByPlaceholder("Find a page");
  await palette.fill("delete worker");
  await expect(page.getByRole("option", { selected: true })).toContainText("Remove a worker");
  await palette.fill("plans teams");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/agents\?tab=teams$/);
  await page.keyboard.press("Control+k");
  await palette.fill("write journal");
  await sound(page, "palette");
  await page.keyboard.press("Enter");
  await expect(page.getByLabel("Title", { exact: true })).toBeFocused(); // the first field
  await page.getByLabel("Title", { exact: true }).fill("From the palette");
  await page.getByRole("button", { name: "Add a journal entry" }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect.poll(() => org.cmux("journal", "show")).toContain("From the palette");
  await page.keyboard.press("Control+k");
  await palette.fill("stop task");
  await page.keyboard.press("Enter");
  await page.getByLabel("Task", { exact: true }).fill("t1");
  await page.getByLabel("Task", { exact: true }).press("Enter");
  await expect(page.getByRole("dialog").getByText("What was done is kept")).toBeVisible();
  expect(org.cmux("tasks", "list")).toContain("t1");
  await sound(page, "palette-asks");
  await page.getByRole("button", { name: "Cancel a task" }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect.poll(() => org.cmux("tasks", "list")).not.toContain("t1");

  // The server is killed while two pages look on: both come back to what happened meanwhile.
  const second = await context.newPage();
  await second.goto(new URL("/tasks", page.url()).href);
  await to("/tasks");
  await expect(second.getByRole("region", { name: /^Cancelled, 1/ })).toBeVisible();
  await page.evaluate(() => {
    const seen: string[] = [];
    Object.assign(window, { seen });
    new MutationObserver(() => seen.push(document.querySelector("footer [role=status]")?.textContent ?? "")).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  const { pid } = JSON.parse(org.read(".cmux/server.json")) as { pid: number };
  process.kill(pid, "SIGKILL");
  org.cmux("tasks", "add", "while it was away");
  for (const p of [page, second]) {
    await expect(p.getByRole("region", { name: /^Open, 1/ }).getByText("while it was away")).toBeVisible();
  }
  expect(await page.evaluate(() => (window as unknown as { seen: string[] }).seen.some((t) => t.startsWith("Offline")))).toBe(true);
  expect(faults).toEqual([]);
});
