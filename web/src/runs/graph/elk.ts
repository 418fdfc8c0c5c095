import ELK, { type ElkNode } from "elkjs/lib/elk-api";
import worker from "elkjs/lib/elk-worker.min.js?url";

import { routes } from "@/runs/graph/route";
import { edgesOf, nodeHeight, nodeWidth, type Laid, type Places, type ShapeNode } from "@/runs/graph/shape";

/** Where elk puts the nodes, and the edges between them, worked out in a worker that ends with it. */
export async function layOut(nodes: readonly ShapeNode[], signal: AbortSignal): Promise<Laid> {
  const edges = edgesOf(nodes);
  const elk = new ELK({ workerFactory: () => new Worker(worker) });
  const end = () => elk.terminateWorker();
  signal.addEventListener("abort", end);
  try {
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
      children: nodes.map((n) => ({ id: n.name, width: nodeWidth, height: nodeHeight })),
      edges: edges.map((e, i) => ({ id: String(i), sources: [e.from], targets: [e.to] })),
    };
    const laid = await elk.layout(graph);
    const places: Places = Object.fromEntries((laid.children ?? []).map((c) => [c.id, { x: Math.round(c.x ?? 0), y: Math.round(c.y ?? 0) }]));
    return { places, lines: routes(nodes, places) };
  } finally {
    signal.removeEventListener("abort", end);
    end();
  }
}
