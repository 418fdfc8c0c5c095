/*
 * What is checked of every page that a test looks at.
 */
import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

import { expect } from "./organization";

/** Collects what the page's console calls an error, and what its policy forbids. Refusals of the server (4xx) are none. */
export function faultsOf(page: Page): string[] {
  const faults: string[] = [];
  page.on("console", (m) => m.type() === "error" && !/status of 4\d\d/.test(m.text()) && faults.push(m.text()));
  page.on("pageerror", (e) => faults.push(e.message));
  void page.addInitScript(() =>
    document.addEventListener("securitypolicyviolation", (e) => console.error(`Content Security Policy: ${e.effectiveDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`)),
  );
  return faults;
}

/** axe finds nothing. A page that is still drawing may have faults for a moment, so axe looks a second time before the test fails. */
export async function healthy(page: Page, name: string): Promise<void> {
  const find = async () => (await new AxeBuilder({ page }).analyze()).violations.map((v) => `${name} ${v.id}: ${v.nodes.map((n) => `${n.html} ${n.failureSummary ?? ""}`).join(" ")}`);
  const found = await find();
  expect(found.length === 0 ? found : await find()).toEqual([]);
}

/** Looks at a page: axe finds nothing, and on a telephone it is not wider than the screen. */
export async function look(page: Page, name: string): Promise<void> {
  await healthy(page, name);
  await page.setViewportSize({ width: 360, height: 740 });
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth), name).toBeLessThanOrEqual(360);
  const wide = () => page.evaluate(() => [...document.querySelectorAll("main")].filter((e) => e.scrollWidth > e.clientWidth).map((e) => `${e.scrollWidth} of ${e.clientWidth}`));
  await expect.poll(wide, name).toEqual([]);
  await picture(page, name, 360, "dark");
  await page.setViewportSize({ width: 1440, height: 900 });
  await picture(page, name, 1440, "dark");
  await picture(page, name, 1440, "light");
}

/** Pictures to look at, where somebody wants them: CMUX_PICTURES names their folder. */
async function picture(page: Page, name: string, width: number, colorScheme: "light" | "dark"): Promise<void> {
  const dir = process.env.CMUX_PICTURES;
  if (dir !== undefined) {
    await page.emulateMedia({ colorScheme });
    await page.waitForTimeout(300);
    await page.screenshot({ path: `${dir}/${name}-${width}-${colorScheme}.png` });
  }
}
