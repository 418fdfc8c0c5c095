// Characters that are not seen, or that turn what is beside them around.
// eslint-disable-next-line no-control-regex
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

/** A text of a file in which nothing hides: such characters are named by their number. */
export function visible(text: string): string {
  return text.replace(hidden, (c) => (c === "\r" ? "␍" : `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`));
}
