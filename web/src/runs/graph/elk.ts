import ELK, { type ElkNode } from "elkjs/lib/elk-api";
import worker from "elkjs/lib/elk-worker.min.js?url";

import { routes } from "@/runs/graph/route";
import { below, edgesOf, layered, parted, type Laid, type Places, type Point, type ShapeNode, type Size } from "@/runs/graph/shape";

type Lines = ReadonlyMap<string, readonly Point[]>;

/** The room above what stands alone. */
const apart = 48;

/** Where the nodes stand, and the edges between them: worked out in workers, once for a shape. */
export async function layOut(nodes: readonly ShapeNode[], size: Size, signal: AbortSignal): Promise<Laid> {
  const { joined, alone } = parted(nodes);
  const places = await placesOf(joined, size, signal).catch(() => layered(joined, size));
  signal.throwIfAborted();
  const lines = joined.length === 0 ? new Map<string, Point[]>() : await linesOf(joined, places, size, signal);
  const all = Object.values(places);
  const xs = [...new Set(all.map((p) => p.x))].sort((a, b) => a - b);
  const lowest = (most: number, p: Point) => Math.max(most, p.y);
  const bottom = Math.max(all.reduce(lowest, -Infinity) + size.height, [...lines.values()].flat().reduce(lowest, -Infinity));
  return { places: { ...places, ...below(alone, xs, joined.length === 0 ? 0 : bottom + apart, size) }, lines };
}

/** Where elk puts nodes. */
async function placesOf(nodes: readonly ShapeNode[], size: Size, signal: AbortSignal): Promise<Places> {
  if (nodes.length === 0) {
    return {};
  }
  const layouter = new Worker(worker);
  const lost = failure(layouter, signal); // elk waits for ever for a worker that does not load
  try {
    const elk = new ELK({ workerFactory: () => layouter });
    const graph: ElkNode = {
      id: "root",
      layoutOptions: {
        "elk.algorithm": "layered",
        "elk.direction": "RIGHT",
        "elk.separateConnectedComponents": "false", // all nodes stand in the same columns: edges run in the gaps between them
        "elk.spacing.nodeNode": "20",
        "elk.layered.spacing.nodeNodeBetweenLayers": "72",
        "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
        "elk.layered.thoroughness": nodes.length > 300 ? "1" : "7",
        "elk.layered.nodePlacement.strategy": nodes.length > 300 ? "SIMPLE" : "BRANDES_KOEPF",
      },
      children: nodes.map((n) => ({ id: n.name, ...size })),
      edges: edgesOf(nodes).map((e, i) => ({ id: String(i), sources: [e.from], targets: [e.to] })),
    };
    const laid = await Promise.race([elk.layout(graph), lost]);
    return Object.fromEntries((laid.children ?? []).map((c) => [c.id, { x: Math.round(c.x ?? 0), y: Math.round(c.y ?? 0) }]));
  } finally {
    layouter.terminate();
  }
}

/** The corners of the edges between nodes that have a place. If no worker finds them, the page does. */
async function linesOf(nodes: readonly ShapeNode[], places: Places, size: Size, signal: AbortSignal): Promise<Lines> {
  const job: Parameters<typeof routes> = [nodes.map(({ name, depends_on, finally: last }): ShapeNode => ({ name, depends_on, finally: last })), places, size];
  try {
    return await inWorker(job, signal);
  } catch {
    signal.throwIfAborted();
    return routes(...job);
  }
}

async function inWorker(job: Parameters<typeof routes>, signal: AbortSignal): Promise<Lines> {
  const router = new Worker(new URL("./route.worker.ts", import.meta.url), { type: "module" });
  try {
    const lost = failure(router, signal);
    router.postMessage(job);
    return await Promise.race([new Promise<Lines>((resolve) => (router.onmessage = ({ data }: MessageEvent<Lines>) => resolve(data))), lost]);
  } finally {
    router.terminate();
  }
}

/** Rejects when a worker does not load or fails, or nobody waits for it any more. */
function failure(worker: Worker, signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error));
    worker.onerror = (e) => reject(new Error(e.message));
  });
}
