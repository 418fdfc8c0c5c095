import type { Api } from "@/api/client";

type Entry = Api<"FileEntry">;

/** The folders in which members may work: not those of git and cmux. The server refuses them, too, and whatever a link leads to outside. */
export function foldersIn(entries: readonly Entry[]): readonly Entry[] {
  return entries.filter((e) => e.kind === "folder" && ![".git", ".cmux"].includes(e.name.toLowerCase()));
}

/** The folder around one; empty: the project's root. */
export function parentOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
}
