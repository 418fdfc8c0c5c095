import { faultsOf, look } from "./checks";
import { expect, test, type Page } from "./organization";

/** A member: ann proposes, and asked about it bob agrees and eve dissents. */
const member = `while IFS= read -r line; do
  said='[PASS]'
  case "$line" in
  *'Answer what is asked'*)
    case "$CMUX_NODE" in
    *.bob) said='AGREE' ;;
    *.eve) said='DISSENT: <img src=x onerror=window.hurt=1> two programs write.\\\\nNot examined: Windows' ;;
    esac ;;
  *'Which database'*) case "$CMUX_NODE" in *.ann) said='[DECISION] **SQLite** in WAL mode' ;; esac ;;
  esac
  turn=\${line#*/} && turn=\${turn%%-*} # the turn of an answer that comes before cmux knows of the prompt is another one
  until cmux rooms log "\${CMUX_NODE%%.*}" --json | grep -q "\\"kind\\":\\"took\\",\\"turn\\":\\"$turn\\""; do :; done
  printf '{"text": "%b"}' "$said" | cmux hook turn-ended
done
`;

test.setTimeout(300_000);

/** The proposal of that label in the dialog of decisions. */
function proposal(page: Page, label: string) {
  return page.getByRole("dialog", { name: "Decisions" }).getByRole("listitem", { name: label });
}

test("a proposal is put to the members and decided, from the page alone", async ({ org, page }) => {
  const faults = faultsOf(page);
  org.unfence();
  org.start();
  org.write({ ".cmux/roles/talker.md": member });
  org.cmux("rooms", "start", "auth", "--agents", "scripted=ann:talker,scripted=bob:talker,scripted=eve:talker", "--policy", "once");
  await page.addInitScript(() => localStorage.setItem("cmux-first-steps-seen", "1"));
  await org.open(page, "/rooms/auth");
  await page.getByRole("button", { name: "Decisions", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Decisions" });
  await expect(dialog.getByText("Nothing was proposed yet.")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);

  await page.getByLabel("Message to auth").fill("Which database?");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByRole("separator", { name: "Round 1 settled" })).toBeVisible();
  await page.getByRole("button", { name: "Decisions (1)" }).click();
  const d1 = proposal(page, "D1");
  await expect(d1.getByText("proposed", { exact: true })).toBeVisible();
  await expect(d1.getByText("For: ann · against: nobody")).toBeVisible();
  await d1.getByRole("button", { name: /^Ask the members \(about [0-9.k]+ tokens\)$/ }).click();
  await expect(d1.getByText("waits for your decision")).toBeVisible();
  await expect(d1.getByText("For: ann, bob · against: eve")).toBeVisible();
  await expect(d1.getByText("eve dissents:")).toBeVisible();
  await expect(d1.getByText("eve has not examined: Windows")).toBeVisible();
  await look(page, "decisions-answered");
  await page.keyboard.press("Escape");

  // what waits for the person leads there
  const waits = page.getByRole("region", { name: "What waits for you" });
  await expect(waits.getByText("D1 waits for your decision: 2 for, 1 against")).toBeVisible();
  await waits.getByRole("link", { name: "Decide" }).click();
  await d1.getByRole("button", { name: "Decide otherwise…" }).click();
  await d1.getByLabel("What is decided instead of D1").fill("SQLite, and one writer.");
  await d1.getByRole("button", { name: "Decide so" }).click();
  await expect(d1.getByText("changed by you")).toBeVisible();
  await expect(d1.getByText("SQLite, and one writer.")).toBeVisible();
  await dialog.getByRole("button", { name: "Decide on your own text…" }).click();
  await dialog.getByLabel("What is decided", { exact: true }).fill("No cache.");
  await dialog.getByRole("button", { name: "Decide so" }).click();
  await expect(proposal(page, "D2").getByText("accepted by you")).toBeVisible();
  await look(page, "decisions-decided");
  await d1.getByRole("link", { name: "journal" }).click();
  await expect(page.getByText("eve: Windows")).toBeVisible();
  await page.goBack(); // to the decisions, which the address shows
  await expect(dialog).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("list", { name: "Talk in auth" }).getByText("You changed: SQLite, and one writer.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Decisions", exact: true })).toBeVisible();
  expect(await page.evaluate(() => "hurt" in window)).toBe(false);
  expect(faults).toEqual([]);
});
