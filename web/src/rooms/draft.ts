/** What is sent: the same text to the same member is the same message. */
export interface Draft {
  text: string;
  to: string; // empty: all
  re: number; // the message that it answers; 0: none
  files?: readonly string[]; // attached
}

const place = (room: string) => `cmux-room-key:${room}`;

/** Not randomUUID, which a page has only where its connection is secure. */
function random(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

/**
 * The key of a message that is being sent. It is made once and outlives the page, so that sending again after the
 * connection was lost is the same message. A message that was changed since is another one.
 */
export function keyOf(room: string, draft: Draft, make = random): string {
  const what = JSON.stringify([draft.text, draft.to, draft.re, ...(draft.files ?? [])]);
  const [kept, key] = JSON.parse(sessionStorage.getItem(place(room)) ?? "[]") as [string?, string?];
  if (kept === what && key !== undefined) {
    return key;
  }
  const made = make();
  sessionStorage.setItem(place(room), JSON.stringify([what, made]));
  return made;
}

/** The message was taken: the next one has another key, also with the same text. */
export function forgetKey(room: string): void {
  sessionStorage.removeItem(place(room));
}
