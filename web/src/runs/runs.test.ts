import fc from "fast-check";
import { expect, test } from "vitest";

import { Problem } from "@/api/client";
import type { labelText } from "@/node/words";
import { attemptBars, scheduleBars, ticks } from "@/runs/bars";
import { counted, difference, duration, hasFailed, took, worked } from "@/runs/figures";
import { merged } from "@/runs/difference";
import { each } from "@/runs/each";
import { crosses, routes } from "@/runs/graph/route";
import { below, columns, cornered, edgeKey, edgesOf, layered, onChain, parted, pathsOf, reuse, shapeKey, sizes, type Places, type Point, type ShapeNode, type Size } from "@/runs/graph/shape";
import { sortNodes, type SortBy } from "@/runs/sort";
import { tokens } from "@/ui/figures";

const label = (over: object) => ({ state: "done", reason: "", code: null, by: "", detail: "", open: false, until: "", ...over }) as Parameters<typeof labelText>[0];

test.each([
  [0.04, "0s"],
  [0.44, "0.4s"],
  [9.99, "10s"],
  [59.4, "59s"],
  [65, "1m 05s"],
  [7300, "2h 01m"],
])("%d seconds are %s", (s, words) => expect(duration(s)).toBe(words));

test("what was at work when its run was stopped has not failed", () => {
  const node = (state: "failed" | "lost" | "running", reason = "") => ({ status: { state, reason } });
  expect([node("failed"), node("lost"), node("lost", "stopped"), node("running")].map(hasFailed)).toEqual([true, true, false, false]);
});

test("a node took what its attempts took, not the time since", () => {
  const span = (from: number, to?: number) => ({ began_at: new Date(from * 1000).toISOString(), ended_at: to === undefined ? null : new Date(to * 1000).toISOString() });
  expect(worked([])).toBeUndefined();
  expect(worked([span(10)])).toBeUndefined();
  expect(worked([span(10, 13), span(100, 101.5)])).toBe(4.5);
  expect(worked([span(10, 9)])).toBe(0);
});

test("figures of runs", () => {
  expect(counted({ input: 1, output: 2, cache_create: 3, cache_read: 100 })).toBe(6);
  expect(counted(null)).toBe(0);
  expect(took({ started_at: null, ended_at: null }, 0)).toBeUndefined();
  expect(took({ started_at: "1970-01-01T00:00:10Z", ended_at: null }, 15_000)).toBe(5);
  expect(took({ started_at: "1970-01-01T00:00:10Z", ended_at: "1970-01-01T00:01:10Z" }, 0)).toBe(60);
  expect(difference(1000, 2500, tokens)).toBe("+1.5k");
  expect(difference(2, 1, tokens)).toBe("-1");
  expect(difference(2, 2, tokens)).toBe("");
});

test("attempts are bars from the first beginning until now", () => {
  const at = (s: number) => new Date(s * 1000).toISOString();
  const span = (attempt: number, began: number, ended: number | null, over?: object) => ({
    attempt,
    began_at: at(began),
    ended_at: ended === null ? null : at(ended),
    label: over ? label(over) : null,
    lost: "",
  });
  const { rows, seconds } = attemptBars(
    [
      { name: "a", critical: true, label: "running", spans: [span(1, 100, 110, { state: "failed", code: 1 }), span(2, 120, null)] },
      { name: "b", critical: false, label: "waiting", spans: [] },
      { name: "c", critical: false, label: "needs input", spans: [span(1, 130, null)] },
    ],
    150_000,
  );
  expect(seconds).toBe(50);
  expect(rows[0]?.bars.map((b) => [b.start, b.end, b.tone])).toEqual([
    [0, 10, "bad"],
    [20, 50, "info"],
  ]);
  expect(rows[0]?.bars[0]?.text).toBe("Attempt 1: failed (exit 1), 10s");
  expect(rows[1]?.bars).toEqual([]);
  expect(rows[2]?.bars.map((b) => b.tone)).toEqual(["warn"]); // it waits for a person
});

test("a schedule says what it guesses, and what never starts has no bar", () => {
  const slot = { start: 0, end: 60, gate: false, blocked: false };
  const { rows } = scheduleBars({ seconds: 60, critical: ["a"], estimated: ["b"], slots: [{ ...slot, node: "a" }, { ...slot, node: "b" }, { ...slot, node: "g", end: 0, gate: true }, { ...slot, node: "x", blocked: true }] });
  expect(rows.map((r) => [r.critical, r.bars[0]?.tone])).toEqual([
    [true, "muted"],
    [false, "info"],
    [false, "warn"],
    [false, undefined],
  ]);
});

test("an axis has few, round points", () => {
  expect(ticks(50)).toEqual([0, 10, 20, 30, 40, 50]);
  fc.assert(fc.property(fc.double({ min: 0, max: 1e7, noNaN: true }), (s) => ticks(s).length <= 7 && ticks(s)[0] === 0));
});

// Any graph, cycles too: an editor draws what is half written.
const graph = fc.array(fc.record({ depends_on: fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 4 }), finally: fc.boolean() }), { maxLength: 12 }).map((all) =>
  all.map((n, i): ShapeNode => ({ name: `n${i}`, finally: n.finally, depends_on: n.depends_on.map((d) => `n${d}`) })),
);

test("no two nodes stand in one place, and edges join nodes that are there", () => {
  fc.assert(
    fc.property(graph, (nodes) => {
      const places = layered(nodes);
      const seen = new Set(Object.values(places).map(({ x, y }) => `${x} ${y}`));
      expect(seen.size).toBe(nodes.length);
      const names = new Set(nodes.map((n) => n.name));
      const edges = edgesOf(nodes);
      expect(edges.every((e) => names.has(e.from) && names.has(e.to) && e.from !== e.to)).toBe(true);
      expect(new Set(edges.map((e) => `${e.from} ${e.to}`)).size).toBe(edges.length);
    }),
  );
});

test("what no edge joins stands in rows below the others", () => {
  fc.assert(
    fc.property(graph, fc.integer({ min: 0, max: 40 }), fc.constantFrom(...Object.values(sizes)), (nodes, more, size) => {
      const all = [...nodes, ...Array.from({ length: nodes.some((n) => n.finally) ? 0 : more }, (_, i): ShapeNode => ({ name: `alone${i}`, depends_on: [] }))];
      const { joined, alone } = parted(all);
      const places = layered(all, size);
      const lowest = joined.reduce((most, n) => Math.max(most, (places[n.name]?.y ?? 0) + size.height), -Infinity);
      expect(alone.every((n) => (places[n.name]?.y ?? -Infinity) >= lowest)).toBe(true);
      expect(all.every((n, i) => all.slice(i + 1).every((m) => apart(places[n.name], places[m.name], size)))).toBe(true);
    }),
  );
  const alone = Array.from({ length: 40 }, (_, i): ShapeNode => ({ name: `n${i}`, depends_on: [] }));
  expect(new Set(Object.values(layered(alone)).map((p) => p.x)).size).toBe(5);
  expect(below(alone.slice(0, 3), [0, 310, 620], 500, sizes.comfortable)).toEqual({ n0: { x: 0, y: 500 }, n1: { x: 310, y: 500 }, n2: { x: 620, y: 500 } });
});

function apart(a: Point | undefined, b: Point | undefined, { width, height }: Size): boolean {
  return a !== undefined && b !== undefined && (Math.abs(a.x - b.x) >= width || Math.abs(a.y - b.y) >= height);
}

test("a node stands right of all that it waits for", () => {
  const acyclic = graph.map((nodes) => nodes.map((n, i) => ({ ...n, finally: false, depends_on: n.depends_on.filter((d) => Number(d.slice(1)) < i) })));
  fc.assert(
    fc.property(acyclic, (nodes) => {
      const column = columns(nodes);
      return edgesOf(nodes).every((e) => (column.get(e.from) ?? 0) < (column.get(e.to) ?? 0));
    }),
  );
  const chain = Array.from({ length: 20_000 }, (_, i): ShapeNode => ({ name: `n${i}`, depends_on: i === 19_999 ? [] : [`n${i + 1}`] }));
  expect(columns(chain).get("n0")).toBe(19_999);
});

test("a node at the end hangs on those that nothing follows", () => {
  const nodes = [
    { name: "a", depends_on: [] },
    { name: "b", depends_on: ["a"] },
    { name: "z", depends_on: [], finally: true },
  ];
  expect(edgesOf(nodes)).toEqual([
    { from: "a", to: "b", loose: false },
    { from: "b", to: "z", loose: true },
  ]);
  expect(shapeKey(nodes)).not.toBe(shapeKey(nodes.map(({ name, depends_on }) => ({ name, depends_on }))));
});

test("a chain is its steps and nothing beside", () => {
  const on = onChain(["a", "b", "c"]);
  expect([on("a", "b"), on("b", "c"), on("a", "c"), on("b", "a")]).toEqual([true, true, false, false]);
});

test("what did not change is the same object", () => {
  const was = new Map([["a", { id: "a", v: 1 }]]);
  const [a, b] = reuse(was, [{ id: "a", v: 1 }, { id: "b", v: 1 }], (x, y) => x.v === y.v);
  expect(a).toBe(was.get("a"));
  expect(b).toEqual({ id: "b", v: 1 });
  expect(reuse(was, [{ id: "a", v: 2 }], (x, y) => x.v === y.v)[0]).not.toBe(was.get("a"));
});

test("nodes are found by words of name and label, and put in order", () => {
  const node = (name: string, label: string, attempts: number, input: number) => ({ name, label, attempts, used: { input, output: 0, cache_create: 0, cache_read: 0 } });
  const nodes = [node("n10", "done", 1, 5), node("n2", "failed (exit 7)", 3, 1), node("a", "done", 2, 9)];
  const names = (words: string, by: SortBy) => sortNodes(nodes, words, by).map((n) => n.name);
  expect(names("", "order")).toEqual(["n10", "n2", "a"]);
  expect(names("", "name")).toEqual(["a", "n2", "n10"]);
  expect(names("DONE n1", "order")).toEqual(["n10"]);
  expect(names("", "tokens")).toEqual(["a", "n10", "n2"]);
  expect(names("", "attempts")).toEqual(["n2", "a", "n10"]);
  expect(names("", "label").at(-1)).toBe("n2");
  expect(nodes[0]?.name).toBe("n10");
});

test("an order that is refused for one is given for the others, and what is no refusal ends it", async () => {
  const given: string[] = [];
  const give = (answers: Record<string, number>) => (name: string) => {
    given.push(name);
    return name in answers ? Promise.reject(new Problem(answers[name] ?? 0, `${name} is no failure`)) : Promise.resolve();
  };
  expect(await each(["a", "b", "c", "d"], give({ b: 409, c: 404 }))).toEqual({
    done: ["a", "d"],
    refused: [{ name: "b", why: "b is no failure" }, { name: "c", why: "c is no failure" }],
  });
  given.length = 0;
  await expect(each(["a", "b", "c"], give({ b: 0 }))).rejects.toThrow("b is no failure");
  expect(given).toEqual(["a", "b"]);
});

test("an update is one graph of what stays, is new, changes and goes", () => {
  const node = (name: string, ...depends_on: string[]) => ({ name, depends_on });
  const change = (name: string, what: string) => ({ name, what, then: "" });
  const all = merged([node("a"), node("b", "a"), node("c", "b")], [node("a"), node("b"), node("d", "a")], [change("b", "depends_on"), change("c", "removed"), change("d", "new"), change("(run)", "max_parallel")]);
  expect(all.map((n) => [n.name, n.how, n.what])).toEqual([
    ["a", undefined, ""],
    ["b", "changed", "depends_on"],
    ["d", "new", ""],
    ["c", "removed", ""],
  ]);
  expect(all.at(-1)?.depends_on).toEqual(["b"]);
});

test("edges are one path for each way that they are drawn", () => {
  const nodes: ShapeNode[] = [{ name: "a", depends_on: [] }, { name: "b", depends_on: ["a"] }, { name: "c", depends_on: ["a", "gone"] }, { name: "end", depends_on: [], finally: true }];
  const places = layered(nodes);
  const { plain, loose, chain } = pathsOf(nodes, { places, lines: routes(nodes, places) }, ["a", "b"]);
  const moves = (path: string) => path.split("M").length - 1;
  expect([moves(plain), moves(loose), moves(chain)]).toEqual([1, 2, 1]);
});

/** Nodes in columns that start anywhere, as a layout puts them: each node keeps its column of `layered`. */
const placed = fc.tuple(graph, fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 14, maxLength: 14 })).map(([nodes, shifts]) => {
  const plain = layered(nodes);
  const places = Object.fromEntries(Object.entries(plain).map(([name, { x, y }]) => [name, { x, y: y + (shifts[Math.round(x / 304) % 14] ?? 0) }]));
  return { nodes, places };
});

/** Checks that no edge runs behind a node and that each joins its nodes. */
function expectClear(nodes: readonly ShapeNode[], places: Places, size: Size = sizes.comfortable): void {
  const lines = routes(nodes, places, size);
  for (const e of edgesOf(nodes)) {
    const line = lines.get(edgeKey(e)) ?? [];
    const [a, b] = [places[e.from], places[e.to]];
    expect(line.length).toBeGreaterThan(1);
    expect(line[0]?.x).toBe((a?.x ?? 0) + size.width);
    expect(line.at(-1)?.x).toBe(b?.x);
    for (const n of nodes) {
      const at = places[n.name] ?? { x: 0, y: 0 };
      // An edge touches its own two nodes only where it leaves and arrives.
      const inner = n.name === e.from || n.name === e.to ? line.slice(n.name === e.from ? 1 : 0, n.name === e.to ? -1 : undefined) : line;
      if (crosses(inner, at, size)) {
        throw new Error(`${e.from} to ${e.to} crosses ${n.name}: ${JSON.stringify({ line, at })}`);
      }
    }
  }
}

test("no edge runs behind a node, in plain columns and in those of any layout", () => {
  fc.assert(fc.property(graph, (nodes) => expectClear(nodes, layered(nodes))), { numRuns: 500 });
  fc.assert(fc.property(graph, (nodes) => expectClear(nodes, layered(nodes, sizes.dense), sizes.dense)), { numRuns: 500 });
  fc.assert(fc.property(placed, ({ nodes, places }) => expectClear(nodes, places)), { numRuns: 500 });
});

test("two edges that share no node never lie on one another", () => {
  const spans = (line: readonly Point[]) => line.slice(1).map((q, i) => ({ p: line[i] ?? q, q }));
  const within = (a: number, b: number, c: number, d: number) => Math.min(Math.max(a, b), Math.max(c, d)) - Math.max(Math.min(a, b), Math.min(c, d)) > 0.01;
  fc.assert(
    fc.property(graph, (nodes) => {
      const lines = routes(nodes, layered(nodes));
      const edges = edgesOf(nodes);
      edges.forEach((e, i) => {
        for (const f of edges.slice(i + 1)) {
          if (new Set([e.from, e.to, f.from, f.to]).size < 4) {
            continue;
          }
          for (const a of spans(lines.get(edgeKey(e)) ?? [])) {
            for (const b of spans(lines.get(edgeKey(f)) ?? [])) {
              const flat = a.p.y === a.q.y && b.p.y === b.q.y && a.p.y === b.p.y && within(a.p.x, a.q.x, b.p.x, b.q.x);
              const upright = a.p.x === a.q.x && b.p.x === b.q.x && a.p.x === b.p.x && within(a.p.y, a.q.y, b.p.y, b.q.y);
              if (flat || upright) {
                throw new Error(`${edgeKey(e)} lies on ${edgeKey(f)}: ${JSON.stringify({ a, b })}`);
              }
            }
          }
        }
      });
    }),
    { numRuns: 500 },
  );
});

test("a line crosses what it passes through and touches", () => {
  const at = { x: 0, y: 0 };
  expect(crosses([{ x: -10, y: 40 }, { x: 400, y: 40 }], at)).toBe(true);
  expect(crosses([{ x: -10, y: 84 }, { x: 400, y: 84 }], at)).toBe(true);
  expect(crosses([{ x: -10, y: 85 }, { x: 400, y: 85 }], at)).toBe(false);
  expect(crosses([{ x: 233, y: -10 }, { x: 233, y: 100 }], at)).toBe(false);
});

test("an edge is straight between its corners, and round at them", () => {
  expect(cornered([])).toBe("");
  expect(cornered([{ x: 0, y: 0 }, { x: 20, y: 0 }, { x: 20, y: 10 }, { x: 40, y: 10 }])).toBe("M0 0L12 0Q20 0 20 5L20 5Q20 10 28 10L40 10");
  expect(cornered([{ x: 0, y: 0 }, { x: 0, y: 0 }, { x: 5, y: 0 }])).not.toContain("NaN");
});
