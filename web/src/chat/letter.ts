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
