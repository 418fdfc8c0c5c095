import { render } from "@testing-library/react";
import { expect, it } from "vitest";

import { Markdown, type Insert } from "@/ui/markdown";
import { restored, slot, withoutSlots } from "@/ui/slots";

const ann: Insert = { text: "@ann", node: <b>ANN</b> };
const draw = (text: string) => render(<Markdown inserts={[ann]}>{text}</Markdown>).container;

it("draws what is put into a slot, inside of other marks too", () => {
  const box = draw(`Ask **${slot(0)}** and ${slot(0)}.`);
  expect(box.textContent).toBe("Ask ANN and ANN.");
  expect(box.querySelectorAll("strong > b, p > b")).toHaveLength(2);
});

it("draws nothing in a slot that there is not, and takes no text for one", () => {
  expect(draw(`a${slot(7)}b`).textContent).toBe("ab");
  expect(draw(withoutSlots(`a${slot(0)}b`)).textContent).toBe("a0b");
  expect(draw("<mark>0</mark>").querySelector("mark, b")).toBeNull();
});

it("puts the text back where nothing is drawn", () => {
  expect(restored(`https://example.org/?of=${encodeURIComponent(slot(0))}`, ["@ann"])).toBe("https://example.org/?of=@ann");
  const long = "x".repeat(100_001);
  expect(draw(slot(0) + long).textContent).toBe(`@ann${long}`);
});
