import { Problem } from "@/api/problem";

/**
 * A value as a word of a path. Browsers take "." and ".." for a way to another place,
 * however they are written: they are no name of anything here.
 */
export function segment(value: string): string {
  if (value === "." || value === "..") {
    throw new Problem(400, `Nothing is called "${value}" here.`);
  }
  return encodeURIComponent(value);
}
