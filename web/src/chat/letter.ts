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

const header = /^\[[^\]\n]+\] .*\(message ([a-zA-Z0-9-]{1,64})\)$/;
const about = /^(> ?|It answers message |Its text is long and stands in the file )/;

const pasted = /^<\/?pasted_content id="[^"]*">$/; // how Claude Code frames what was pasted

/** The ids of the messages that a prompt hands over, as cmux words it; undefined: it holds something else too. */
export function handedOver(prompt: string): string[] | undefined {
  const ids: string[] = [];
  for (const line of prompt.split(/\r\n|\r|\n/)) {
    const id = header.exec(line)?.[1];
    if (id !== undefined) {
      ids.push(id);
    } else if (line.trim() !== "" && !pasted.test(line.trim()) && (ids.length === 0 || !about.test(line))) {
      return undefined;
    }
  }
  return ids.length === 0 ? undefined : ids;
}
