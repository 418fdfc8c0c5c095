import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { expect, test, type Page } from "@playwright/test";

import { bin } from "./setup";

/*
 * What `make demo-web` shows: a run whose gate waits, and an organization of real Claude
 * Code agents with a script for a model. `make pictures` takes its pictures here.
 */
const root = join(import.meta.dirname, "..", "..");
const pictures = process.env.CMUX_PICTURES;

test.use({ viewport: { width: 1280, height: 800 }, deviceScaleFactor: pictures === undefined ? 1 : 1.5 });

async function picture(page: Page, name: string): Promise<void> {
  await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
  await expect(page.getByText("The graph is being laid out")).toHaveCount(0);
  if (pictures !== undefined) {
    await page.screenshot({ path: join(root, pictures, `dashboard-${name}.png`), animations: "disabled" });
  }
}

test("the demo: a gate is approved, and what real agents did is read", async ({ browser }) => {
  test.setTimeout(240_000); // two runs of real programs, on a machine that does much else
  const installed = existsSync(join(root, ".agents-cli", "installed"));
  const real = join(bin, "real");
  execFileSync("go", ["build", "-ldflags=-s -w", "-o", `${real}/`, "./cmd/cmux", "./agents/testkit/modeltest/modeld"], { cwd: root });
  const demo = spawn(join(root, "examples", "demo", "run.sh"), ["--web", join(real, "cmux"), join(real, "modeld")], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, TERM: "xterm-256color" },
  });
  try {
    const pages = await Promise.all(
      (await links(demo, installed ? 2 : 1)).map(async (link) => {
        const page = await (await browser.newContext()).newPage();
        await page.goto(link); // it works once, and soon
        await page.waitForURL((url) => url.pathname === "/");
        return page;
      }),
    );
    const [run, organization] = pages;
    if (run === undefined) {
      throw new Error("there is no page of the run");
    }
    await approves(run);
    if (organization !== undefined) {
      await reads(organization);
    }
  } finally {
    demo.stdin.end();
    if (demo.exitCode === null) {
      await once(demo, "exit");
    }
  }
  expect(demo.exitCode).toBe(0);
});

/** The links that the demo prints: `count` of them, or as many as there are at its end. */
async function links(demo: ChildProcess, count: number): Promise<string[]> {
  const found: string[] = [];
  const said: string[] = [];
  if (demo.stdout === null) {
    throw new Error("the demo has no output");
  }
  const lines = createInterface({ input: demo.stdout });
  for await (const line of lines) {
    said.push(line);
    if (/^http:\/\/\S+$/.test(line) && found.push(line) === count) {
      demo.stdout.resume(); // the rest of what it says goes nowhere
      return found;
    }
  }
  throw new Error(`the demo printed ${found.length.toString()} of ${count.toString()} links:\n${said.join("\n")}`);
}

async function approves(page: Page): Promise<void> {
  const gate = page.getByRole("link", { name: /^Gate approval/ });
  await expect(gate).toBeVisible();
  await expect(page.getByRole("link", { name: /^Failure e2e/ })).toBeVisible();
  await gate.click();
  await expect(page.getByRole("region", { name: "Work below the gate" })).toBeVisible();
  await picture(page, "needs");
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await page.getByRole("list", { name: "Runs" }).getByRole("link", { name: "demo" }).click();
  const graph = page.getByRole("group", { name: "Graph of the run" });
  await expect(graph.getByRole("button", { name: /^approval.* needs input/ })).toBeVisible();
  await picture(page, "run");
  const shown = page.url();
  await page.setViewportSize({ width: 390, height: 780 });
  await page.goto(new URL("/", shown).href);
  await gate.click();
  await expect(page.getByRole("region", { name: "Work below the gate" })).toBeVisible();
  await picture(page, "phone");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByRole("button", { name: "Send now: approval: approved" }).click();
  await expect(gate).toHaveCount(0);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(shown);
  await expect(graph.getByRole("button", { name: /^release.* done/ })).toBeVisible();
}

async function reads(page: Page): Promise<void> {
  await page.goto(new URL("/chat", page.url()).href);
  await expect(page.getByText("The baker and the grocer are at work.").first()).toBeVisible();
  await expect(page.getByText("It is merged.").first()).toBeVisible();
  await picture(page, "chat");
  await page.goto(new URL("/tasks", page.url()).href);
  await expect(page.getByText("Sell bread").first()).toBeVisible();
  await picture(page, "tasks");
  await page.goto(new URL("/rooms/design", page.url()).href);
  await expect(page.getByRole("separator", { name: "Round 1 settled" })).toBeVisible();
  await expect(page.getByRole("group", { name: /^First answers/ })).toBeVisible();
  await picture(page, "room");
}
