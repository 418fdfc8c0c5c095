import { describe, expect, it } from "vitest";

import { lengthOf, makerOf, mostText, notesAt } from "@/memory/notes";

describe("notes", () => {
  it("are counted in characters", () => {
    expect(lengthOf("  ä🎉x ")).toBe(3);
    expect(lengthOf("🎉".repeat(mostText))).toBe(mostText);
  });
  it("name who made them", () => {
    expect(["user", "heuristic", "claude"].map(makerOf)).toEqual(["you", "cmux", "claude"]);
  });
  it("have a link", () => {
    expect(notesAt()).toBe("/rooms?notes=");
    expect(notesAt("n7")).toBe("/rooms?notes=n7");
  });
});
