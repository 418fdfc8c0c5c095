/*
 * A room whose members follow a script, for the tests of rooms.
 */
import { join } from "node:path";

import { look } from "./checks";
import { expect, type Organization, type Page } from "./organization";

/** Text that does harm where it is taken for anything else. */
export const hostile = "<img src=x onerror=window.hurt=1><script>window.hurt=2</script> [run](javascript:window.hurt=3)";

/** A member: asked which, ann and bob answer and react to each other once; asked to rest, it does so until it is stopped; told to, it writes at the root. */
export const member = `f=$(eval "echo $SCRIPTED_CONVERSATION")
while read -r line; do
  printf '%s %s\\n' "$(date +%s%N)" "$line" >> "$f"
  said='[PASS]'
  case "$line" in
  *'Take a rest'*) sleep 300 ;;
  *'Write there'*) echo stolen > "$CMUX_ROOT/stolen.txt" ;;
  *'Ask me'*)
    echo '{"text": "May I?", "options": ["certainly", "never"]}' | cmux hook question
    read -r answer
    said="You said: $answer." ;;
  *'Say hello'*) said='Hello to you alone.' ;;
  *Which*)
    case "$CMUX_NODE" in
    *ann) said='**SQLite.** ${hostile}' ;;
    *) said='[QUESTION] Postgres, @ann?' ;;
    esac ;;
  *Postgres*) said='+1 bob' ;;
  *SQLite*) said='I had a doubt.\\n[PASS]' ;;
  esac
  printf 'said %s\\n' "$said" >> "$f"
  printf '{"text": "%s"}' "$said" | cmux hook turn-ended
done
`;

export async function begin(org: Organization, page: Page): Promise<void> {
  org.env.SCRIPTED_CONVERSATION = join(org.dir, "talk-$CMUX_NODE");
  org.unfence();
  org.start();
  org.write({ ".cmux/roles/ann.md": member, ".cmux/roles/bob.md": member });
  await page.addInitScript(() => localStorage.setItem("cmux-first-steps-seen", "1"));
  await org.open(page, "/rooms");
}

/** Begins a room of ann and bob from the page. */
export async function beginRoom(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: "Begin a room" }).click();
  const dialog = page.getByRole("dialog", { name: "Begin a room" });
  await dialog.getByLabel("Name", { exact: true }).fill(name);
  await dialog.getByRole("button", { name: "Add a member" }).click();
  for (const [i, who] of [[1, "ann"], [2, "bob"]] as const) {
    await dialog.getByLabel(`Kind of member ${i}`).fill("scripted");
    await dialog.getByLabel(`Name of member ${i}`).fill(who);
    await dialog.getByLabel(`Role of member ${i}`).fill(who);
  }
  await dialog.getByLabel("Topic").fill(`Where sessions are kept ${hostile}`);
  await look(page, "rooms-begin");
  await dialog.getByRole("button", { name: "Begin", exact: true }).click();
  await expect(page.getByRole("heading", { name, level: 1 })).toBeVisible();
}

/** Makes a room of ann and bob without the dialog. */
export async function makeRoom(page: Page, name: string, settings: object = {}): Promise<void> {
  await ask(page, "/api/rooms", { name, members: ["scripted=ann:ann", "scripted=bob:bob"], settings });
}

/** Sends the API what the page would. */
export async function ask(page: Page, path: string, body: object): Promise<void> {
  const status = await page.evaluate(async ([path, body]) => (await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body })).status, [path, JSON.stringify(body)] as const);
  expect(status).toBeLessThan(300);
}
