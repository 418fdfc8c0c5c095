import { join } from "node:path";

import { expect, test } from "./organisation";
import { setScene } from "./scene";

/*
 * How each page looks, kept in golden/. After a change that is meant:
 * npx playwright test --config golden.config.ts --update-snapshots, and look at what changed.
 */
const looks = [
  { width: 1440, height: 900, scheme: "light" },
  { width: 360, height: 740, scheme: "dark" },
] as const;

const paths: Record<string, string> = {
  needs: "/",
  runs: "/runs",
  run: "/runs/RUN",
  "run-table": "/runs/RUN?tab=table",
  node: "/runs/RUN/nodes/api",
  changes: "/runs/RUN/nodes/api?tab=changes",
  review: "/review",
  chat: "/chat",
  agents: "/agents",
  agent: "/agents/painter",
};

test.use({ bypassCSP: true }); // the letters of golden.css

test("every page looks as it did", async ({ org, page }) => {
  test.setTimeout(300_000);
  setScene(org);
  await org.open(page);
  const { id } = (JSON.parse(org.cmux("agents", "status", "--json")) as { run: { id: string } }).run;
  for (const { width, height, scheme } of looks) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    for (const [name, path] of Object.entries(paths)) {
      await page.goto(new URL(path.replace("RUN", id), page.url()).href);
      await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
      await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
      await expect.soft(page).toHaveScreenshot(`${name}-${width}-${scheme}.png`, { stylePath: join(import.meta.dirname, "golden.css") });
    }
  }
});
