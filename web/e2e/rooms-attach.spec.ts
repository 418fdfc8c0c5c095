import { readFile } from "node:fs/promises";

import { faultsOf, look } from "./checks";
import { expect, test } from "./organization";
import { begin, makeRoom } from "./rooms";

test.setTimeout(300_000);

const html = "<script>window.hurt = 1</script>";

test("files are chosen, dropped and pasted for a message, and saved from it", async ({ org, page }) => {
  const faults = faultsOf(page);
  await begin(org, page);
  await makeRoom(page, "files");
  await page.goto(new URL("/rooms/files", page.url()).href);
  const form = page.getByRole("form", { name: "Write to files" });
  const chosen = form.getByRole("list", { name: "Files of this message" });
  const choose = async (...files: { name: string; mimeType: string; buffer: Buffer }[]) => {
    const chooser = page.waitForEvent("filechooser");
    await form.getByRole("button", { name: "Attach files" }).click();
    await (await chooser).setFiles(files);
  };
  const text = (name: string, content: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from(content) });

  // What cannot be attached is named; what was chosen can be taken back.
  await choose(text("empty.txt", ""), text("notes.txt", "the notes"), text("wrong.txt", "x"));
  await expect(page.getByText("empty.txt is empty, or a folder: attach the files in it.")).toBeVisible();
  await expect(chosen.getByRole("listitem")).toHaveCount(2);
  await form.getByRole("button", { name: "Do not attach wrong.txt" }).click();
  await page.getByRole("region", { name: "Notices" }).getByRole("button", { name: "Close" }).click();

  // Dropped and pasted ones join it.
  await form.evaluate((target, content) => {
    const dropped = new DataTransfer();
    dropped.items.add(new File([content], `${"a long name ".repeat(20)}.html`, { type: "text/html" }));
    target.dispatchEvent(new DragEvent("dragover", { dataTransfer: dropped, bubbles: true, cancelable: true }));
    target.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
  }, html);
  await page.getByLabel("Message to files").evaluate((target) => {
    const pasted = new DataTransfer();
    pasted.items.add(new File([new Uint8Array([137, 80, 78, 71])], "image.png", { type: "image/png" }));
    target.dispatchEvent(new ClipboardEvent("paste", { clipboardData: pasted, bubbles: true, cancelable: true }));
  });
  await expect(chosen.getByRole("listitem")).toHaveText([/^notes\.txt9 B$/, /^a long name .*\.html32 B$/, /^image\.png4 B$/]);
  await expect(form.getByText("Say what the files are for.")).toBeVisible();
  await expect(form.getByRole("button", { name: "Send", exact: true })).toBeDisabled();
  await look(page, "room-attach");
  await expect(chosen.getByRole("listitem")).toHaveCount(3); // also where the panes have moved

  await page.getByLabel("Message to files").fill("Which of these?");
  await page.getByLabel("Message to files").press("Enter");
  await expect(chosen).toHaveCount(0);
  const talk = page.getByRole("list", { name: "Talk in files" });
  const sent = talk.getByRole("article").filter({ hasText: "Which of these?" }).getByRole("list", { name: "Attached files" });
  await expect(sent.getByRole("listitem")).toHaveText([/^notes\.txt9 B$/, /^a_long_name_.*\.html32 B$/, /^image\.png4 B$/]);
  await expect(talk.getByRole("separator", { name: "Round 1 settled" })).toBeVisible();
  await look(page, "room-attached");

  // Each is saved as it was, and no page of the dashboard's comes of it.
  for (const [name, content] of [[/^notes\.txt$/, "the notes"], [/^a_long_name_.*\.html$/, html]] as const) {
    const download = page.waitForEvent("download");
    await sent.getByRole("link", { name: content === html ? /html/ : /notes/ }).click();
    const file = await download;
    expect(file.suggestedFilename()).toMatch(name);
    expect(await readFile(await file.path(), "utf8")).toBe(content);
  }
  expect(await page.evaluate(() => "hurt" in window)).toBe(false);
  expect(faults).toEqual([]);
});
