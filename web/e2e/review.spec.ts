import type { Page } from "@playwright/test";

import { faultsOf, look } from "./checks";
import { expect, idle, test } from "./organization";

const found = "An empty input prints an empty line instead of 0 (price/total.sh line 4).";

// A node that mends its work as it is told, and one that reviews it.
const config = `session: shop
agents:
  - name: price
    agent: scripted
    task: |
      if test -e price/total.sh; then
        read -r said
        echo "$said" > said
        sed -i 's/^echo .*/echo "\${sum:-0}"/' price/total.sh
        git add -A; git commit -qm 'Empty is 0'
        cmux done 'An empty input gives 0 now.'
      else
        mkdir price
        printf '#!/bin/sh\\n# Adds numbers.\\nsum=$(paste -sd+ | bc)\\necho "$sum"\\n' > price/total.sh
        git rm -q old.txt; git add -A; git commit -qm 'Add the total'
        cmux done 'It adds.'
      fi
      cat > /dev/null
  - {name: reviewer, agent: scripted, role: review, depends_on: price, task: "cmux output verdict=refuse; cmux done '${found}'; cat > /dev/null"}
`;

const theCase = (page: Page) => page.getByRole("region", { name: "price", exact: true });
const diffOf = (page: Page, file: string) => page.getByRole("list", { name: `Changes of ${file}` });

test("a review shows what was found, is sent back, and shows what changed since", async ({ org, page }) => {
  test.setTimeout(120_000); // of a machine that has much to do
  const faults = faultsOf(page);
  org.write({ ".cmux-agents.yml": config, "old.txt": "one\ntwo\n" });
  org.run("git", "add", "-A");
  org.run("git", "commit", "-qm", "begin");
  org.start(idle);
  org.cmux("agents", "start", "--yes", "--detach");
  await expect.poll(() => org.cmux("agents", "status"), { timeout: 60_000 }).toMatch(/reviewer\s.*done/);
  await org.open(page);
  const price = theCase(page);
  const row = page.getByRole("list", { name: "What waits for you" }).getByRole("link", { name: /^Review price/ });

  await test.step("the report of the reviewer leads to the line that it names", async () => {
    await row.click();
    const report = price.getByRole("region", { name: "Review by reviewer" });
    await expect(report).toContainText(found);
    await expect(report.getByRole("list", { name: "Outputs of reviewer" })).toContainText("verdict refuse");
    await expect(report.getByText("earlier state")).toHaveCount(0);
    await expect(report.getByRole("link", { name: "reviewer" })).toHaveAttribute("href", /\/nodes\/reviewer$/);
    await page.getByRole("button", { name: /^old.txt/ }).click();
    const deleted = diffOf(page, "old.txt");
    await expect(deleted.getByText("removed: one")).toBeVisible();
    await expect(deleted.locator(".grid-cols-2")).toHaveCount(0); // no empty half beside it
    await report.getByRole("link", { name: "price/total.sh:4" }).click();
    const named = diffOf(page, "price/total.sh").locator("[data-chosen]");
    await expect(named).toContainText('echo "$sum"');
    await expect(named).not.toHaveCSS("box-shadow", "none");
    await look(page, "review-found");
  });

  await test.step("a comment is written by the keyboard, changed, and not lost by an approval", async () => {
    const buttons = await price.locator("[data-decision], [data-send-back]").evaluateAll((all) => all.map((b) => b.textContent.trim().replace(/ .$/, "")));
    expect(buttons).toEqual(["Approve", "Send back", "Drop"]);
    const number = page.getByRole("button", { name: "Comment on line 4", exact: true });
    await number.focus();
    await page.keyboard.press("Enter");
    await expect(page.getByRole("textbox", { name: "Comment on line 4" })).toBeFocused();
    await page.keyboard.type("Print 1");
    await page.keyboard.press("Control+Enter");
    await expect(price.getByRole("button", { name: "Send back with 1 comment" })).toBeVisible();
    await price.getByRole("button", { name: "Edit this comment" }).click();
    await page.getByRole("textbox", { name: "Comment on price/total.sh:4" }).fill("Print 0");
    await price.getByRole("button", { name: "Save comment" }).click();
    await expect(price.getByText("Print 0")).toBeVisible();
    await look(page, "review-comment");
    await page.keyboard.press("a");
    const asked = page.getByRole("dialog", { name: "1 comment was not sent" });
    await expect(asked.getByText("Print 0")).toBeVisible();
    await look(page, "review-lost");
    await asked.getByRole("button", { name: "Send back with 1 comment" }).click();
    await page.getByRole("dialog", { name: "Send back with comments" }).getByRole("button", { name: "Send as one message" }).click();
    await expect.poll(() => org.run("git", "log", "--format=%s", "shop/price"), { timeout: 30_000 }).toContain("Empty is 0");
    expect(org.run("git", "show", "shop/price:said")).toContain("Print 0");
  });

  await test.step("the second look is at what is new", async () => {
    await row.click();
    await expect(price.getByRole("region", { name: "What you sent it back with" })).toContainText("Print 0");
    await expect(price.getByText("An empty input gives 0 now.")).toBeVisible();
    await expect(price.getByText("reviewer read an earlier state of the work.")).toBeVisible();
    await expect(price.getByRole("button", { name: "Since you sent it back", pressed: true })).toBeVisible();
    await page.getByRole("button", { name: /^price\/total.sh/ }).click();
    await expect(diffOf(page, "price/total.sh").getByText('removed: echo "$sum"')).toBeVisible();
    await expect(page.getByRole("button", { name: /^old.txt/ })).toHaveCount(0);
    await look(page, "review-since");
    await price.getByRole("button", { name: "All changes" }).click();
    await expect(page.getByRole("button", { name: /^old.txt/ })).toBeVisible();
    await expect(diffOf(page, "price/total.sh").getByText("added: #!/bin/sh")).toBeVisible();
  });

  await test.step("an approval without a comment that is being typed deletes it", async () => {
    await page.getByRole("button", { name: "Comment on line 2", exact: true }).click();
    await page.getByRole("textbox", { name: "Comment on line 2" }).fill("Half a sentence");
    await price.getByRole("button", { name: "Send back with 1 comment" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click(); // it is a comment now, and no field is left
    await expect(page.getByRole("textbox", { name: "Comment on line 2" })).toHaveCount(0);
    await expect(diffOf(page, "price/total.sh").getByText("Half a sentence")).toBeVisible();
    await price.getByRole("button", { name: "Approve" }).click();
    const asked = page.getByRole("dialog", { name: "1 comment was not sent" });
    await asked.getByRole("button", { name: "Approve without it" }).click();
    expect(await page.evaluate(() => localStorage.getItem("cmux-comments"))).toContain("Half a sentence"); // it can be undone
    await page.getByRole("button", { name: /^Send now: price/ }).click();
    await expect.poll(() => org.cmux("agents", "review", "price")).toContain("approved");
    await expect.poll(() => page.evaluate(() => localStorage.getItem("cmux-comments"))).not.toContain("Half a sentence");
  });
  expect(faults).toEqual([]);
});
