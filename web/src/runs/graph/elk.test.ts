import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { layOut } from "@/runs/graph/elk";
import { routes } from "@/runs/graph/route";
import { edgeKey, edgesOf, layered, sizes, type ShapeNode } from "@/runs/graph/shape";

const size = sizes.comfortable;
const nodes: ShapeNode[] = [
  { name: "build", depends_on: [] },
  { name: "check", depends_on: ["build"] },
  { name: "ship", depends_on: ["build", "check"] },
];

/** A worker whose script does not come. */
class Lost {
  onmessage: ((e: { data: unknown }) => void) | null = null;
  onerror: ((e: { message: string }) => void) | null = null;
  ended = false;
  constructor() {
    made.push(this);
    setTimeout(() => this.onerror?.({ message: "" }));
  }
  postMessage(): void {
    // nobody reads it
  }
  terminate(): void {
    this.ended = true;
  }
}

let made: Lost[] = [];
beforeEach(() => (made = []));
afterEach(() => vi.unstubAllGlobals());

/** What is drawn without any worker: plain columns, and each edge around the nodes. */
async function expectPlain(): Promise<void> {
  const laid = await layOut(nodes, size, new AbortController().signal);
  expect(laid.places).toEqual(layered(nodes, size));
  expect(laid.lines).toEqual(routes(nodes, laid.places, size));
  expect([...laid.lines.keys()].sort()).toEqual(edgesOf(nodes).map(edgeKey).sort());
}

it("routes edges in the page when the workers do not load", async () => {
  vi.stubGlobal("Worker", Lost);
  await expectPlain();
  expect(made.map((w) => w.ended)).toEqual([true, true]);
});

it("routes edges in the page when the browser refuses workers", async () => {
  const refuse = vi.fn(function () {
    throw new DOMException("blocked", "SecurityError");
  });
  vi.stubGlobal("Worker", refuse);
  await expectPlain();
  expect(refuse).toHaveBeenCalledTimes(2);
});

it("does no work in the page for a graph that nobody waits for", async () => {
  vi.stubGlobal("Worker", Lost);
  const end = new AbortController();
  const laid = layOut(nodes, size, end.signal);
  end.abort();
  await expect(laid).rejects.toThrow(/abort/i);
  expect(made.every((w) => w.ended)).toBe(true);
});
