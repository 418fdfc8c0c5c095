/** The folders from the root to a path, the path itself left out. */
export function ancestors(path: string): string[] {
  const parts = path.split("/").filter((p) => p !== "");
  return parts.slice(0, -1).map((_, i) => parts.slice(0, i + 1).join("/"));
}

export function isMarkdown(path: string): boolean {
  return /\.(md|markdown)$/i.test(path);
}

/** A file's own name. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
