/** A message of what was typed: its first line is the subject, what follows the body. */
export function letterOf(text: string): { subject: string; body?: string } {
  const [first = "", ...rest] = text.trim().split("\n");
  const body = rest.join("\n").trim();
  const subject = first.trim();
  if (subject.length > 200) {
    return { subject: `${subject.slice(0, 199)}…`, body: text.trim() };
  }
  return body === "" ? { subject } : { subject, body };
}

/** The first and the last line of a message's envelope. No line of its body, which is quoted, looks like them. */
const opening = /^<message id="([a-zA-Z0-9-]{1,64})"/;
const closing = "</message>";

/** The first line of a message as an earlier cmux worded it, and what may follow it. */
const header = /^\[[^\]\n]+\] .*\(message ([a-zA-Z0-9-]{1,64})\)$/;
const about = /^(> ?|It answers message |Its text is long and stands in the file )/;

const tag = /<\/?pasted_content\b[^>\n]*>/g;

/** A prompt without the tags by which Claude Code frames what was pasted. */
export function unframed(prompt: string): string {
  return prompt.replace(tag, "");
}

/**
 * What a prompt says beside the messages that it hands over, as cmux words them, and which of these it hands over.
 * Those that are not `shown` elsewhere stay in the text.
 */
export function handedOver(prompt: string, shown: (id: string) => boolean): { ids: string[]; rest: string } {
  const ids: string[] = [];
  const rest: string[] = [];
  let inside = false; // a message that is shown elsewhere
  let letter = false; // any message of an earlier cmux
  let envelope = false; // any other message
  for (const line of unframed(prompt).split(/\r\n|\r|\n/)) {
    const trimmed = line.trim();
    const enclosed = opening.exec(trimmed)?.[1];
    const id = enclosed ?? header.exec(trimmed)?.[1];
    if (envelope && trimmed === closing) {
      if (!inside) {
        rest.push(line);
      }
      envelope = inside = false;
      continue;
    }
    if (id !== undefined) {
      envelope = enclosed !== undefined;
      letter = !envelope;
      inside = shown(id);
      if (inside) {
        ids.push(id);
      }
    } else if (!envelope && trimmed !== "" && !(letter && about.test(line))) {
      letter = inside = false;
    }
    if (!inside) {
      rest.push(line);
    }
  }
  return { ids, rest: rest.join("\n").trim() };
}

const attribute = (head: string, name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(head)?.[1]?.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

/** A prompt for a reader: the messages in it without their envelopes, and without the quotation marks of their lines. */
export function readable(prompt: string): string {
  const out: string[] = [];
  let inside = false;
  for (const line of unframed(prompt).split(/\r\n|\r|\n/)) {
    const trimmed = line.trim();
    if (!inside && /^<message [^>]*>$/.test(trimmed)) {
      inside = true;
      const from = attribute(trimmed, "from") ?? "";
      const subject = attribute(trimmed, "subject") ?? "";
      out.push(`Message from ${from === "user" ? "you" : from}${subject === "" ? "" : `: ${subject}`}`, "");
    } else if (inside && trimmed === closing) {
      inside = false;
    } else {
      out.push(inside ? line.replace(/^\s*> ?/, "") : line);
    }
  }
  return out.join("\n").replace(/\n{3,}/g, "\n\n").trim();
}

/** A message's body without what it says for a reader at a terminal: the page has a button or a link for it. */
export function withoutCommands(body: string): string {
  return body
    .replace(/ Its record: cmux tasks show t\d+$/gm, "")
    .replace(/^Answer: cmux .*$/gm, "")
    .trim();
}
