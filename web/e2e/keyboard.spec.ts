import type { Page } from "@playwright/test";

import { expect, test } from "./organization";
import { paths, setScene } from "./scene";

interface Walked {
  missed: string[]; // what Tab did not come to
  unseen: string[]; // what has the focus and does not show it
  trapped: boolean; // the page was not left again
}

/** Whether what has the focus shows it by a frame; that of the editor comes a moment later. */
function framed(page: Page): Promise<boolean> {
  const seen = page.waitForFunction(
    () => {
      const e = document.activeElement;
      return [e, e?.closest(".cm-editor")].some((at) => at && getComputedStyle(at).outlineStyle !== "none" && Number.parseFloat(getComputedStyle(at).outlineWidth) > 0);
    },
    undefined,
    { timeout: 2000 },
  );
  return seen.then(
    () => true,
    () => false,
  );
}

/** Tabs through all of a page, from its beginning to its end. */
async function walk(page: Page): Promise<Walked> {
  const count = await page.evaluate(() => {
    let n = 0;
    for (const e of document.querySelectorAll<HTMLElement>("*")) {
      const reachable = e.tabIndex >= 0 && !e.matches(":disabled") && !e.closest("[inert]") && e.checkVisibility({ visibilityProperty: true });
      // One of a group is come to, the others by arrows.
      const grouped = e.matches("[role=tablist], input[type=radio]");
      if (reachable && !grouped) {
        e.dataset.walk = String(n++);
      }
    }
    document.body.focus();
    return n;
  });
  const reached = new Set<string>();
  const unseen: string[] = [];
  let trapped = true;
  for (let i = 0; i < 2 * count + 10; i++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const e = document.activeElement;
      if (!(e instanceof HTMLElement) || e === document.body) {
        return undefined;
      }
      return { walk: e.dataset.walk ?? "", what: `${e.tagName} ${e.className.slice(0, 60)} ${e.getAttribute("aria-label") ?? e.textContent.slice(0, 60)}` };
    });
    if (at === undefined || reached.has(at.walk)) {
      trapped = at !== undefined && reached.size < count / 2;
      break;
    }
    if (at.walk !== "") {
      reached.add(at.walk);
    }
    if (!(await framed(page))) {
      unseen.push(at.what);
    }
  }
  const missed = await page.evaluate(
    (seen) =>
      [...document.querySelectorAll<HTMLElement>("[data-walk]")]
        .filter((e) => !seen.includes(e.dataset.walk ?? "") && e.tabIndex >= 0 && !e.matches(":disabled") && e.checkVisibility({ visibilityProperty: true }))
        .map((e) => `${e.tagName} ${e.className.slice(0, 60)} ${e.getAttribute("aria-label") ?? e.textContent.slice(0, 60)}`),
    [...reached],
  );
  return { missed, unseen, trapped };
}

test("every page is walked by the keyboard alone, and is read in order", async ({ org, page }) => {
  test.setTimeout(300_000);
  setScene(org);
  await org.open(page);
  await page.evaluate(() => localStorage.setItem("cmux-first-steps-seen", "1"));
  const { id } = (JSON.parse(org.cmux("agents", "status", "--json")) as { run: { id: string } }).run;
  for (const [name, path] of Object.entries(paths)) {
    await test.step(name, async () => {
      await page.goto(new URL(path.replace("RUN", id), page.url()).href);
      await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
      await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
      expect.soft(await walk(page), name).toEqual({ missed: [], unseen: [], trapped: false });
      // What a screen reader finds its way by.
      await expect.soft(page.getByRole("main"), name).toHaveCount(1);
      await expect.soft(page.getByRole("heading", { level: 1 }), name).toHaveCount(1);
      const levels = await page.getByRole("main").getByRole("heading").evaluateAll((all) => all.map((h) => Number(h.getAttribute("aria-level") ?? h.tagName.slice(1))));
      expect.soft(levels.every((level, i) => level <= (levels[i - 1] ?? 0) + 1), `${name}: headings ${levels.join(" ")}`).toBe(true);
    });
  }
});
