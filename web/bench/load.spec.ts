import type { Page } from "@playwright/test";

import { expect, test } from "../e2e/organization";
import { serveEmpty } from "./empty";

interface Load {
  kilobytes: number; // that came over the network
  ms: number; // from the navigation until the heading is there
}

/** Opens a page as a slow machine would: nothing cached, a processor four times as slow. */
async function load(page: Page, url: string, heading: string): Promise<Load> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Network.enable");
  await cdp.send("Network.setCacheDisabled", { cacheDisabled: true });
  await cdp.send("Emulation.setCPUThrottlingRate", { rate: 4 });
  let bytes = 0;
  cdp.on("Network.loadingFinished", (e) => (bytes += e.encodedDataLength));
  const began = performance.now();
  await page.goto(url, { waitUntil: "commit" });
  await page.getByRole("heading", { name: heading }).waitFor();
  const ms = performance.now() - began;
  await page.waitForLoadState("networkidle").catch(() => undefined);
  await cdp.detach();
  return { kilobytes: bytes / 1000, ms };
}

function median(all: number[]): number {
  return [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;
}

test("first load, beside an empty page", async ({ org, page, browser }) => {
  org.start();
  await org.open(page);
  const home = new URL("/", page.url()).href;
  const cookies = await page.context().cookies();
  const empty = await serveEmpty();
  const figures: Record<"dashboard" | "empty", Load[]> = { dashboard: [], empty: [] };
  for (let i = 0; i < 7; i++) {
    for (const which of ["dashboard", "empty"] as const) {
      const context = await browser.newContext();
      await context.addCookies(cookies);
      const fresh = await context.newPage();
      figures[which].push(which === "empty" ? await load(fresh, empty.url, "Nothing") : await load(fresh, home, "Needs you"));
      await context.close();
    }
  }
  empty.end();
  const of = (which: "dashboard" | "empty", what: keyof Load) => median(figures[which].map((l) => l[what]));
  console.log(
    `first load: ${of("dashboard", "kilobytes").toFixed(0)} KB, ${of("dashboard", "ms").toFixed(0)} ms at a quarter of the speed;` +
      ` an empty page: ${of("empty", "kilobytes").toFixed(0)} KB, ${of("empty", "ms").toFixed(0)} ms;` +
      ` ratio ${(of("dashboard", "ms") / of("empty", "ms")).toFixed(2)}`,
  );
  expect(of("dashboard", "kilobytes")).toBeLessThan(250);
});
