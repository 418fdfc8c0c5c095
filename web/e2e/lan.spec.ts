import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";

import { healthy } from "./checks";
import { expect, test } from "./organization";

/** Waits until a program has printed something, and gives the part in brackets. */
async function printed(program: ChildProcess, what: RegExp): Promise<string> {
  let text = "";
  return new Promise((found, failed) => {
    const look = (more: Buffer) => {
      text += more.toString();
      const [, part] = what.exec(text) ?? [];
      if (part !== undefined) {
        found(part);
      }
    };
    program.stdout?.on("data", look);
    program.stderr?.on("data", look);
    program.once("exit", () => failed(new Error(`it ended:\n${text}`)));
  });
}

test("a phone on the local network is paired by a code, and let go with the command", async ({ org, browser }) => {
  org.start();
  const lan = spawn("cmux", ["open", "--lan", "--address", "127.0.0.1"], { cwd: org.root, env: org.env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(lan, "exit");
  const [url, code] = await Promise.all([printed(lan, /^Open on the phone: +(\S+)$/m), printed(lan, /^Code: +(\S+)/m)]);
  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/pair$/);
  // The certificate is this machine's own: a person compares its fingerprint and goes on.
  const phone = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const page = await phone.newPage();
  const foreign: string[] = [];
  page.on("request", (r) => !r.url().startsWith(new URL("/", url).href) && !r.url().startsWith("data:") && foreign.push(r.url()));

  const other = await page.goto(new URL("/api/needs", url).href);
  expect(other?.status()).toBe(401);
  await page.goto(url);
  await page.getByLabel(/^The code/).fill("AAAA-AAAA");
  await page.keyboard.press("Enter");
  await expect(page.getByText(/is not the code|wrong/i)).toBeVisible();
  expect(await phone.cookies()).toEqual([]);

  await page.getByLabel(/^The code/).fill(code.toLowerCase());
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Needs you" })).toBeVisible();
  await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
  expect(new URL(page.url()).pathname).toBe("/");
  expect(await phone.cookies()).toMatchObject([{ secure: true, httpOnly: true, sameSite: "Strict" }]);

  // What it is for: something is asked, and answered from the phone.
  org.cmux("mailbox", "send", "user", "[QUESTION] which color?", "Blue or green?");
  await page.getByRole("link", { name: "Message [QUESTION] which color?", exact: true }).tap();
  await page.getByLabel(/^Reply to/).fill("green");
  await page.getByRole("button", { name: "Reply", exact: true }).tap();
  await page.getByRole("button", { name: "Send now: [QUESTION] which color?: replied" }).tap();
  await expect(page.getByRole("link", { name: "Message Re: [QUESTION] which color?" })).toBeVisible(); // who asked is the person here
  await healthy(page, "paired");

  // With the command ended the page is closed to all but this machine, and a new code is needed.
  lan.kill("SIGINT");
  await ended;
  await expect(page.getByRole("status").filter({ hasText: "Offline" })).toBeVisible();
  await expect(page.getByRole("alert").filter({ hasText: "The server does not answer at this address" })).toBeVisible();
  await expect(page.goto(url)).rejects.toThrow(/ERR_CONNECTION_REFUSED/);
  expect(foreign).toEqual([]);
  await phone.close();
});
