/*
 * The shape of a graph: its nodes, its edges and where each node stands. It knows no
 * React; graph/elk.ts finds better places.
 */

/** The size of a node as it is drawn: what three lines of text take, and no more. */
export interface Size {
  width: number;
  height: number;
}

export const sizes = { comfortable: { width: 232, height: 84 }, dense: { width: 208, height: 70 } } as const satisfies Record<string, Size>;
export const gapX = 72;
export const gapY = 20;

export interface ShapeNode {
  name: string;
  depends_on: readonly string[];
  finally?: boolean | undefined; // it waits for all others
}

export interface ShapeEdge {
  from: string;
  to: string;
  loose: boolean; // no dependency that is written: a node at the end waits for all
}

export interface Point {
  x: number;
  y: number;
}

export type Places = Readonly<Record<string, Point>>;

/** A graph that is laid out: where its nodes stand, and the corners of its edges. */
export interface Laid {
  places: Places;
  lines: ReadonlyMap<string, readonly Point[]>; // by edgeKey
}

export function edgeKey(e: { from: string; to: string } | undefined): string {
  return e ? `${e.from}\u0001${e.to}` : "";
}

/** Two graphs with the same key are laid out the same. */
export function shapeKey(nodes: readonly ShapeNode[]): string {
  return nodes.map((n) => `${n.name}\u0001${n.depends_on.join("\u0002")}${n.finally === true ? "\u0003" : ""}`).join("\u0004");
}

/** The edges between nodes that are there. A node at the end hangs on those that nothing else follows. */
export function edgesOf(nodes: readonly ShapeNode[]): ShapeEdge[] {
  const names = new Set(nodes.map((n) => n.name));
  const edges: ShapeEdge[] = [];
  const followed = new Set<string>();
  for (const n of nodes) {
    for (const d of new Set(n.depends_on)) {
      if (names.has(d) && d !== n.name) {
        edges.push({ from: d, to: n.name, loose: false });
        if (n.finally !== true) {
          followed.add(d);
        }
      }
    }
  }
  const ends = nodes.filter((n) => n.finally !== true && !followed.has(n.name));
  for (const n of nodes) {
    if (n.finally === true) {
      for (const e of ends) {
        if (!n.depends_on.includes(e.name)) {
          edges.push({ from: e.name, to: n.name, loose: true });
        }
      }
    }
  }
  return edges;
}

/** In which column each node stands: one right of all that it waits for. A cycle ends where it is met. */
export function columns(nodes: readonly ShapeNode[]): Map<string, number> {
  const before = new Map<string, string[]>(nodes.map((n) => [n.name, []]));
  for (const e of edgesOf(nodes)) {
    before.get(e.to)?.push(e.from);
  }
  const column = new Map<string, number>();
  const open = new Set<string>();
  for (const n of nodes) {
    // Without recursion: a chain may be longer than the stack.
    const stack = [n.name];
    while (stack.length > 0) {
      const name = stack.at(-1) ?? "";
      if (column.has(name)) {
        stack.pop();
        continue;
      }
      open.add(name);
      const deps = before.get(name) ?? [];
      const missing = deps.filter((d) => !column.has(d) && !open.has(d));
      if (missing.length > 0) {
        stack.push(...missing);
        continue;
      }
      column.set(name, deps.reduce((most, d) => Math.max(most, (column.get(d) ?? -1) + 1), 0));
      open.delete(name);
      stack.pop();
    }
  }
  return column;
}

/** Nodes that an edge joins with others, and those that stand alone. */
export function parted(nodes: readonly ShapeNode[]): { joined: ShapeNode[]; alone: ShapeNode[] } {
  const ends = new Set(edgesOf(nodes).flatMap((e) => [e.from, e.to]));
  return { joined: nodes.filter((n) => ends.has(n.name)), alone: nodes.filter((n) => !ends.has(n.name)) };
}

/** How much wider than high a block of nodes is. */
const shape = 1.6;

/** Nodes that stand alone, in rows below the others and in their columns, which begin at `xs`; in more columns where there are many. */
export function below(alone: readonly ShapeNode[], xs: readonly number[], top: number, size: Size): Places {
  const [stepX, stepY] = [size.width + gapX, size.height + gapY];
  const across = Math.max(xs.length, Math.ceil(Math.sqrt((alone.length * stepY * shape) / stepX)));
  const last = xs.at(-1) ?? -stepX;
  const x = (c: number) => xs[c] ?? last + (c - xs.length + 1) * stepX;
  return Object.fromEntries(alone.map((n, i) => [n.name, { x: x(i % across), y: top + Math.floor(i / across) * stepY }]));
}

/** Places at once: in columns, in the order of the configuration; what stands alone is below. */
export function layered(nodes: readonly ShapeNode[], size: Size = sizes.comfortable): Places {
  const filled: number[] = [];
  const { joined, alone } = parted(nodes);
  const column = columns(joined);
  const places: Record<string, Point> = {};
  for (const n of joined) {
    const c = column.get(n.name) ?? 0;
    const row = filled[c] ?? 0;
    filled[c] = row + 1;
    places[n.name] = { x: c * (size.width + gapX), y: row * (size.height + gapY) };
  }
  const rows = filled.reduce((most, n) => Math.max(most, n), 0);
  return { ...places, ...below(alone, filled.map((_, c) => c * (size.width + gapX)), rows * (size.height + gapY), size) };
}

/** The nodes and edges on a chain, such as the critical path. */
export function onChain(chain: readonly string[]): (from: string, to: string) => boolean {
  const next = new Map<string, string>();
  for (let i = 1; i < chain.length; i++) {
    next.set(chain[i - 1] ?? "", chain[i] ?? "");
  }
  return (from, to) => next.get(from) === to;
}

/** All edges as paths of an SVG, by how they are drawn. */
export function pathsOf(nodes: readonly ShapeNode[], { lines }: Laid, critical: readonly string[]): { plain: string; loose: string; chain: string } {
  const on = onChain(critical);
  const paths = { plain: "", loose: "", chain: "" };
  for (const e of edgesOf(nodes)) {
    paths[on(e.from, e.to) ? "chain" : e.loose ? "loose" : "plain"] += cornered(lines.get(edgeKey(e)) ?? []);
  }
  return paths;
}

/** Straight from point to point, round at the corners. */
export function cornered(points: readonly Point[]): string {
  let path = "";
  points.forEach((p, i) => {
    const [before, after] = [points[i - 1], points[i + 1]];
    if (!before) {
      path = `M${p.x} ${p.y}`;
    } else if (!after) {
      path += `L${p.x} ${p.y}`;
    } else {
      const [from, to] = [towards(p, before), towards(p, after)];
      path += `L${from.x} ${from.y}Q${p.x} ${p.y} ${to.x} ${to.y}`;
    }
  });
  return path;
}

/** A point a little on the way, at most half of it. */
function towards(p: Point, q: Point): Point {
  const length = Math.hypot(q.x - p.x, q.y - p.y);
  const part = length === 0 ? 0 : Math.min(8, length / 2) / length;
  return { x: p.x + (q.x - p.x) * part, y: p.y + (q.y - p.y) * part };
}

/** The next list, with the items of the last where nothing about them is new: what is drawn stays drawn. */
export function reuse<T extends { id: string }>(last: ReadonlyMap<string, T>, next: readonly T[], same: (a: T, b: T) => boolean): T[] {
  return next.map((n) => {
    const was = last.get(n.id);
    return was !== undefined && same(was, n) ? was : n;
  });
}
