/*
 * The way of each edge between nodes that have a place: it runs around nodes, never behind
 * one, and two edges that share no node never lie on one another. It knows no React.
 */
import { edgeKey, edgesOf, sizes, type Point, type Places, type ShapeEdge, type ShapeNode, type Size } from "@/runs/graph/shape";

/** How far an edge keeps from a node that is not its end, at least. */
const clear = 6;
/** Between two edges that run beside each other, where there is room. */
const beside = 4;
/** How far the first edge runs outside of all nodes. */
const outside = 16;

interface Stretch {
  low: number;
  high: number;
}

interface Way {
  edge: ShapeEdge;
  out: Point; // where it leaves
  into: Point; // where it arrives
  first: number; // the gap behind the node that it leaves
  last: number; // the gap before the node that it reaches
}

/** Whether a line of corners crosses the rectangle of a node, its border included. */
export function crosses(line: readonly Point[], at: Point, { width, height }: Size = sizes.comfortable): boolean {
  return line.some((p, i) => {
    const q = line[i + 1];
    return q !== undefined && meets(p, q, { x: at.x, y: at.y }, { x: at.x + width, y: at.y + height });
  });
}

/** Whether the straight line from p to q meets a rectangle (Liang and Barsky). */
function meets(p: Point, q: Point, low: Point, high: Point): boolean {
  let [from, to] = [0, 1];
  for (const axis of ["x", "y"] as const) {
    const step = q[axis] - p[axis];
    if (step === 0) {
      if (p[axis] < low[axis] || p[axis] > high[axis]) {
        return false;
      }
      continue;
    }
    const [a, b] = [(low[axis] - p[axis]) / step, (high[axis] - p[axis]) / step];
    from = Math.max(from, Math.min(a, b));
    to = Math.min(to, Math.max(a, b));
  }
  return from <= to;
}

/** The corners of every edge, by edgeKey. Nodes stand in columns: no two columns share an x. */
export function routes(nodes: readonly ShapeNode[], places: Places, size: Size = sizes.comfortable): Map<string, readonly Point[]> {
  const columns = columnsOf(nodes, places, size);
  const ways = waysOf(nodes, places, columns);
  const levels = levelsOf(ways, columns);
  const lanes = lanesOf(ways, levels, columns);
  return new Map(
    ways.map((w) => {
      const [x1, x2, y] = [lanes.get(w)?.first ?? 0, lanes.get(w)?.last ?? 0, levels.get(w)];
      const corners = y === undefined ? [{ x: x1, y: w.out.y }, { x: x1, y: w.into.y }] : [{ x: x1, y: w.out.y }, { x: x1, y }, { x: x2, y }, { x: x2, y: w.into.y }];
      return [edgeKey(w.edge), without([w.out, ...corners, w.into])];
    }),
  );
}

/** A line without the corners where it does not turn. */
function without(line: readonly Point[]): Point[] {
  return line.filter((p, i) => {
    const [a, b] = [line[i - 1], line[i + 1]];
    return !a || !b || !((a.x === p.x && p.x === b.x) || (a.y === p.y && p.y === b.y));
  });
}

interface Columns {
  size: Size;
  xs: readonly number[]; // the left sides, in order
  of: ReadonlyMap<string, number>; // the column of each node
  taken: readonly (readonly Stretch[])[]; // what the nodes of each take, from top to bottom
  bottom: number;
}

function columnsOf(nodes: readonly ShapeNode[], places: Places, size: Size): Columns {
  const xs = [...new Set(nodes.flatMap((n) => places[n.name]?.x ?? []))].sort((a, b) => a - b);
  const index = new Map(xs.map((x, i) => [x, i]));
  const of = new Map<string, number>();
  const taken: Stretch[][] = xs.map(() => []);
  let bottom = 0;
  for (const n of nodes) {
    const p = places[n.name];
    if (p) {
      const c = index.get(p.x) ?? 0;
      of.set(n.name, c);
      taken[c]?.push({ low: p.y - clear, high: p.y + size.height + clear });
      bottom = Math.max(bottom, p.y + size.height);
    }
  }
  return { size, xs, of, taken, bottom };
}

/** Edges with the points where they leave and arrive: spread over the side of the node, in the order of the other ends. */
function waysOf(nodes: readonly ShapeNode[], places: Places, { of, size }: Columns): Way[] {
  const edges = edgesOf(nodes).filter((e) => places[e.from] && places[e.to]);
  const y = (name: string) => places[name]?.y ?? 0;
  const outs = portsOf(edges, "from", (e) => y(e.to), y, size);
  const ins = portsOf(edges, "to", (e) => y(e.from), y, size);
  const ways = edges.map((edge): Way => {
    const [a, b] = [of.get(edge.from) ?? 0, of.get(edge.to) ?? 0];
    return { edge, out: { x: (places[edge.from]?.x ?? 0) + size.width, y: outs.get(edge) ?? 0 }, into: { x: places[edge.to]?.x ?? 0, y: ins.get(edge) ?? 0 }, first: a + 1, last: b };
  });
  // In one gap, an edge that arrives does not do so on the line of another that leaves.
  const left = new Map<number, Map<number, Set<string>>>(); // by gap and y, who leaves there
  for (const w of ways) {
    const gap = left.get(w.first) ?? new Map<number, Set<string>>();
    left.set(w.first, gap);
    gap.set(w.out.y, (gap.get(w.out.y) ?? new Set()).add(w.edge.from));
  }
  const arrived = new Map<string, Set<number>>();
  for (const w of ways) {
    const mine = arrived.get(w.edge.to) ?? new Set<number>();
    arrived.set(w.edge.to, mine);
    const straight = w.first === w.last && w.out.y === w.into.y;
    const free = (at: number) => !mine.has(at) && [...(left.get(w.last)?.get(at) ?? [])].every((from) => from === w.edge.from && straight);
    const top = y(w.edge.to);
    for (const step of [0, 3, -3, 5, -5, 7, -7, 9, -9, 11, -11, 13, -13]) {
      const at = w.into.y + step;
      if (at > top && at < top + size.height && free(at)) {
        w.into = { ...w.into, y: at };
        break;
      }
    }
    mine.add(w.into.y);
  }
  return ways;
}

function portsOf(edges: readonly ShapeEdge[], end: "from" | "to", other: (e: ShapeEdge) => number, y: (name: string) => number, { height }: Size): Map<ShapeEdge, number> {
  const by = new Map<string, ShapeEdge[]>();
  for (const e of edges) {
    by.set(e[end], [...(by.get(e[end]) ?? []), e]);
  }
  const ports = new Map<ShapeEdge, number>();
  for (const [name, all] of by) {
    all.sort((a, b) => other(a) - other(b));
    all.forEach((e, i) => ports.set(e, y(name) + (height * (i + 1)) / (all.length + 1)));
  }
  return ports;
}

/** The height at which each edge passes the columns between its ends; none: there is no column between them. */
function levelsOf(ways: readonly Way[], { taken, bottom }: Columns): Map<Way, number> {
  const levels = new Map<Way, number>();
  const used = taken.map(() => new Set<number>()); // by column: the heights that edges pass it at, as numbers of steps
  const free = new Map<string, readonly Stretch[]>();
  const freeOf = (from: number, to: number): readonly Stretch[] => {
    const key = `${from} ${to}`;
    let known = free.get(key);
    if (known === undefined) {
      const column = between(taken[to] ?? [], bottom);
      known = from === to ? column : shared(freeOf(from, to - 1), column);
      free.set(key, known);
    }
    return known;
  };
  for (const w of ways) {
    if (w.first === w.last) {
      continue;
    }
    const [from, to] = [Math.min(w.first, w.last), Math.max(w.first, w.last) - 1];
    const passed = used.slice(Math.max(0, from - 1), to + 2); // it turns beside them: what turns there too may run on
    const step = levelOf(w, freeOf(from, to), (at) => passed.every((u) => !u.has(at)));
    passed.forEach((u) => u.add(step));
    levels.set(w, step * beside + 1.5); // no edge leaves or arrives at such a height
  }
  return levels;
}

/** What the nodes of a column leave free, from top to bottom. */
function between(nodes: readonly Stretch[], bottom: number): Stretch[] {
  const free: Stretch[] = [];
  let from = -outside * 1000 - bottom;
  for (const t of [...nodes].sort((a, b) => a.low - b.low)) {
    if (t.low > from) {
      free.push({ low: from, high: t.low });
    }
    from = Math.max(from, t.high);
  }
  return [...free, { low: from, high: 2 * bottom + outside * 1000 }];
}

/** What two columns both leave free. */
function shared(a: readonly Stretch[], b: readonly Stretch[]): Stretch[] {
  const both: Stretch[] = [];
  for (let [i, k] = [0, 0]; i < a.length && k < b.length; ) {
    const [f, g] = [a[i], b[k]];
    if (!f || !g) {
      break;
    }
    const [low, high] = [Math.max(f.low, g.low), Math.min(f.high, g.high)];
    if (high - low >= beside + 2) {
      both.push({ low, high });
    }
    if (f.high < g.high) {
      i++;
    } else {
      k++;
    }
  }
  return both;
}

/** The free height nearest to both ends that no other edge runs on, as a number of steps. */
function levelOf(w: Way, free: readonly Stretch[], unused: (step: number) => boolean): number {
  const middle = (w.out.y + w.into.y) / 2;
  const cost = (y: number) => Math.abs(y - w.out.y) + Math.abs(y - w.into.y);
  const wanted = free.map((f) => {
    const room = Math.min(outside, (f.high - f.low) / 2);
    const y = Math.min(f.high - room, Math.max(f.low + room, middle));
    return { ...f, y, least: cost(y) };
  });
  wanted.sort((a, b) => a.least - b.least);
  let best: { step: number; cost: number } | undefined;
  for (const f of wanted) {
    if (best !== undefined && best.cost <= f.least - 2 * outside) {
      break;
    }
    const [lowest, highest, ideal] = [Math.ceil((f.low - 1.5) / beside), Math.floor((f.high - 1.5) / beside), Math.round((f.y - 1.5) / beside)];
    for (let d = 0; ideal - d >= lowest || ideal + d <= highest; d++) {
      const step = [ideal - d, ideal + d].find((at) => at >= lowest && at <= highest && unused(at));
      if (step !== undefined) {
        const price = cost(step * beside);
        if (best === undefined || price < best.cost) {
          best = { step, cost: price };
        }
        break;
      }
    }
  }
  return best?.step ?? Math.round(middle / beside);
}

/** The x at which each edge turns in its gaps: each edge has a lane of its own. */
function lanesOf(ways: readonly Way[], levels: ReadonlyMap<Way, number>, { xs, size }: Columns): Map<Way, { first: number; last: number }> {
  const gaps = new Map<number, { way: Way; end: "first" | "last"; from: number; to: number }[]>();
  const turn = (gap: number, way: Way, end: "first" | "last", from: number, to: number) => {
    const turns = gaps.get(gap) ?? [];
    turns.push({ way, end, from, to });
    gaps.set(gap, turns);
  };
  for (const w of ways) {
    const level = levels.get(w);
    if (level === undefined) {
      turn(w.first, w, "first", w.out.y, w.into.y);
    } else {
      turn(w.first, w, "first", w.out.y, level);
      turn(w.last, w, "last", level, w.into.y);
    }
  }
  const lanes = new Map<Way, { first: number; last: number }>(ways.map((w) => [w, { first: 0, last: 0 }]));
  for (const [gap, turns] of gaps) {
    const before = xs[gap - 1];
    const low = before === undefined ? (xs[0] ?? 0) - 3 * outside : before + size.width;
    const high = xs[gap] ?? low + 3 * outside;
    // Down from below, up from above: few of them cross.
    const rank = (t: { from: number; to: number }) => (t.to >= t.from ? -t.from : t.from);
    turns.sort((a, b) => rank(a) - rank(b));
    turns.forEach((t, i) => {
      const lane = lanes.get(t.way);
      if (lane) {
        lane[t.end] = low + ((high - low) * (i + 1)) / (turns.length + 1);
      }
    });
  }
  return lanes;
}
