/*
 * Places in a text of Markdown that are drawn by the page: a name, a badge. A slot is written as two characters of the
 * private use area around its number, which no text that is shown keeps.
 */
const slots = /\ue000(\d+)\ue001/g;
const written = /(?:\ue000|%EE%80%80)(\d+)(?:\ue001|%EE%80%81)/g; // in an address they are escaped

export function slot(i: number): string {
  return `\ue000${i}\ue001`;
}

/** A text without the characters of slots. */
export function withoutSlots(text: string): string {
  return text.replace(/[\ue000\ue001]/g, "");
}

/** A text or an address with what stands for the slots put back. */
export function restored(text: string, originals: readonly string[]): string {
  return text.replace(written, (_, i: string) => originals[Number(i)] ?? "");
}

/** A node of a parsed text, as far as it matters here. */
interface Node {
  type: string;
  value?: string;
  tagName?: string;
  properties?: Record<string, unknown>;
  children?: Node[];
}

/** The element that stands for a slot. No text of Markdown makes one. */
export const slotTag = "mark";

/** A plugin of rehype that makes an element of each slot. */
export function rehypeSlots() {
  return (tree: Node) => divide(tree);
}

function divide(node: Node): void {
  if (node.children === undefined) {
    return;
  }
  node.children = node.children.flatMap((child) => {
    if (child.type !== "text" || child.value === undefined) {
      divide(child);
      return [child];
    }
    const parts: Node[] = [];
    let at = 0;
    for (const found of child.value.matchAll(slots)) {
      parts.push({ type: "text", value: child.value.slice(at, found.index) }, { type: "element", tagName: slotTag, properties: { index: Number(found[1]) }, children: [] });
      at = found.index + found[0].length;
    }
    return [...parts, { type: "text", value: child.value.slice(at) }].filter((p) => p.value !== "");
  });
}
