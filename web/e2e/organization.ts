/*
 * A project of a test's own: a repository, a home, a tmux server, and an organization
 * whose agents are scripts. Nothing of it is left behind.
 */
import { test as base, expect, type Page } from "@playwright/test";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { bin } from "./setup";

export class Organization {
  readonly dir: string;
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;

  constructor(name = "shop") {
    this.dir = mkdtempSync(join(tmpdir(), "cw")); // the path of a socket ends near 100 bytes
    this.root = join(this.dir, name);
    const home = join(this.dir, "home");
    mkdirSync(home);
    mkdirSync(this.root);
    this.env = {
      PATH: `${bin}:${process.env.PATH ?? ""}`,
      HOME: home,
      TMUX_TMPDIR: this.dir,
      CMUX_TMUX_SOCKET: "t",
      TERM: "xterm-256color",
      NO_COLOR: "1",
      SHELL: "/bin/sh",
      TZ: "UTC",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_AUTHOR_NAME: "A",
      GIT_AUTHOR_EMAIL: "a@example.com",
      GIT_COMMITTER_NAME: "A",
      GIT_COMMITTER_EMAIL: "a@example.com",
    };
    this.run("git", "init", "-q", "-b", "main");
    this.run("git", "commit", "-q", "--allow-empty", "-m", "begin");
  }

  /** Writes files, by their paths in the project. */
  write(files: Record<string, string>): void {
    for (const [name, text] of Object.entries(files)) {
      const path = join(this.root, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
  }

  read(name: string): string {
    return readFileSync(join(this.root, name), "utf8");
  }

  /** Runs a program in the project, and gives what it printed. A failure is thrown. */
  run(program: string, ...args: string[]): string {
    return execFileSync(program, args, { cwd: this.root, env: this.env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  cmux(...args: string[]): string {
    return this.run("cmux", ...args);
  }

  /** Starts the organization with scripted agents: `agent` is what each runs (sh). */
  start(agent = idle): void {
    this.write({
      ".cmux/config.yml": "supervisor: {agent: scripted}\n",
      ".cmux/roles/supervisor.md": agent,
      ".cmux/roles/worker.md": agent,
    });
    this.cmux("start", "--detach", "--yes");
  }

  /** Lets agents write beside their worktrees, where a test looks for what they did. */
  unfence(): void {
    const own = join(this.env.HOME ?? "", ".config", "cmux");
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, "config.yml"), "fence: off\n");
  }

  /** A one-time link to the page, on a path of it. */
  link(): string {
    return this.cmux("open", "--print").trim();
  }

  /** Logs a browser in, and opens a path of the page. */
  async open(page: Page, path = "/"): Promise<void> {
    await page.goto(this.link());
    await page.waitForURL((url) => url.pathname === "/");
    if (path !== "/") {
      await page.goto(path === "" ? "/" : new URL(path, page.url()).href);
    }
    await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
  }

  end(): void {
    spawnSync("cmux", ["stop", "--runs"], { cwd: this.root, env: this.env, timeout: 30_000 });
    spawnSync("tmux", ["-L", "t", "kill-server"], { env: this.env });
    // Killed processes may still write for a moment, also into folders that are empty already.
    // rmSync does not empty a folder again when it retries.
    for (let left = 50; ; left--) {
      try {
        rmSync(this.dir, { recursive: true, force: true });
        return;
      } catch (e) {
        if (left === 0) {
          throw e;
        }
        spawnSync("sleep", ["0.1"]);
      }
    }
  }
}

/** An agent that takes everything in and reports nothing. */
export const idle = `echo '{}' | cmux hook turn-ended
while read -r line; do
  echo '{}' | cmux hook turn-ended
done
`;

export const test = base.extend<{ org: Organization }>({
  // eslint-disable-next-line no-empty-pattern
  org: async ({}, hand) => {
    const org = new Organization();
    await hand(org);
    org.end();
  },
});

export { expect, type Page };
