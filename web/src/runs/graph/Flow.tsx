import "@xyflow/react/dist/base.css";
import "@/runs/graph/flow.css";

import { Panel, ReactFlow, ReactFlowProvider, useReactFlow, useStore, useStoreApi, ViewportPortal, type Node, type NodeProps } from "@xyflow/react";
import { Focus, Maximize, ZoomIn, ZoomOut } from "lucide-react";
import { createContext, memo, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState, type ReactNode, type RefObject } from "react";

import { pathsOf, reuse, type Laid, type Places, type ShapeNode, type Size } from "@/runs/graph/shape";
import { usePlaces } from "@/runs/graph/usePlaces";
import { Button, IconButton } from "@/ui/button";
import { toneOf, type Tone } from "@/ui/label";

export interface FlowNode extends ShapeNode {
  critical: boolean;
}

interface FlowProps<T extends FlowNode> {
  label: string;
  nodes: readonly T[];
  critical: readonly string[];
  selected?: string | undefined;
  onSelect?: (name: string) => void;
  /** The names that "What works" zooms to; missing: there is no such button. */
  working?: (() => string[]) | undefined;
  /** The names that are seen first where the whole graph would be too small to be read. */
  first?: (() => string[]) | undefined;
  card: (node: T) => ReactNode; // must be the same function as long as it draws the same
  /** What stands for a node where it is too small to be read, beside its name. */
  labelOf?: (node: T) => string;
  /** Whether two states of a node are drawn the same; missing: where they are one object. */
  alike?: (a: T, b: T) => boolean;
}

interface Data extends Record<string, unknown> {
  node: FlowNode;
  card: (node: never) => ReactNode;
  labelOf: ((node: never) => string) | undefined;
  selected: boolean;
  select: ((name: string) => void) | undefined;
}
type Drawn = Node<Data, "card">;

/** A graph of nodes: only its visible part is drawn, and only changed parts are drawn again. */
export function Flow<T extends FlowNode>(props: FlowProps<T>) {
  return (
    <ReactFlowProvider>
      <Inner {...props} />
    </ReactFlowProvider>
  );
}

function Inner<T extends FlowNode>({ label, nodes, critical, selected, onSelect, working, first, card, labelOf, alike }: FlowProps<T>) {
  const far = useStore(({ transform }) => transform[2] < readable);
  const { laid, final, shape, size } = usePlaces(nodes);
  const { places } = laid;
  const last = useRef<ReadonlyMap<string, Drawn>>(new Map());
  const drawn = useMemo(() => drawnOf(nodes, places, size, selected, onSelect, card as Data["card"], labelOf as Data["labelOf"]), [nodes, places, size, selected, onSelect, card, labelOf]);
  const same = useMemo(() => sameBy(alike as ((a: FlowNode, b: FlowNode) => boolean) | undefined), [alike]);
  // eslint-disable-next-line react-hooks/refs -- what was drawn last is kept, so that it is not drawn again
  const kept = useMemo(() => reuse(last.current, drawn, same), [drawn, same]);
  useEffect(() => {
    last.current = new Map(kept.map((n) => [n.id, n]));
  }, [kept]);
  const [moves, setMoves] = useState(false);
  const [moved, setMoved] = useState(false); // by a person: it stays where they look
  const layer = useLayer();
  return (
    <div ref={layer} className={`relative h-full min-h-0 grow ${moves ? "flow-moves" : ""}`} role="group" aria-label={label}>
      <Far value={far}>
        <ReactFlow
          nodes={kept}
          nodeTypes={nodeTypes}
          onlyRenderVisibleElements={!far || nodes.length > mostSmall}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          elementsSelectable={false}
          minZoom={0.05}
          maxZoom={1.5}
          fitView
          onMoveStart={(e) => {
            setMoves(e !== null);
            setMoved((was) => was || e !== null);
          }}
          onMoveEnd={() => setMoves(false)}
          proOptions={proOptions}
        >
          <ViewportPortal>
            <Edges shape={shape} laid={laid} critical={critical} />
          </ViewportPortal>
          <Tools working={working} first={first} places={places} final={final} still={!moved} />
        </ReactFlow>
      </Far>
    </div>
  );
}

/**
 * Moves the graph by its viewport, and scales it by what is in that. The library does
 * both by one transform of the viewport: the layer that is moved would be as large as
 * the graph in full size, many times what is seen.
 */
function useLayer(): RefObject<HTMLDivElement | null> {
  const ref = useRef<HTMLDivElement>(null);
  const store = useStoreApi();
  useLayoutEffect(() => {
    const viewport = ref.current?.querySelector<HTMLElement>(".react-flow__viewport");
    if (!viewport) {
      return undefined;
    }
    const parts = [...viewport.children] as HTMLElement[];
    let last: readonly number[] = [];
    const apply = () => {
      const [x, y, zoom] = store.getState().transform;
      if (x !== last[0] || y !== last[1]) {
        viewport.style.translate = `${Math.round(x)}px ${Math.round(y)}px`;
      }
      if (zoom !== last[2]) {
        parts.forEach((part) => (part.style.scale = String(zoom)));
      }
      last = [x, y, zoom];
    };
    apply();
    return store.subscribe(apply);
  }, [store]);
  return ref;
}

/** Below this zoom a node is its name alone: nobody could read more, and a thousand of them are seen at once. */
const readable = 0.4;
/** From this zoom on a card is read with ease. */
const clear = 0.7;
const Far = createContext(false);
/** Up to this many small nodes stay in the page: creating them when they become visible takes longer. */
const mostSmall = 3000;

/** All edges as one picture: thousands of elements would be drawn again with each step that the graph is moved. */
const Edges = memo(function Edges({ shape, laid, critical }: { shape: readonly ShapeNode[]; laid: Laid; critical: readonly string[] }) {
  const { plain, loose, chain } = useMemo(() => pathsOf(shape, laid, critical), [shape, laid, critical]);
  return (
    <svg aria-hidden width={1} height={1} className="flow-edges">
      <path d={plain} />
      <path d={loose} className="loose" />
      <path d={chain} className="chain" />
    </svg>
  );
});

const proOptions = { hideAttribution: true };
const fit = { padding: { top: "56px", left: 0.06, right: 0.06, bottom: 0.06 }, maxZoom: 1 } as const; // the tools are above it

/** As wide as a telephone: a whole graph could not be read there. */
const narrow = 640;

/** What is seen of a graph first: all of it; in a narrow window what matters, as large as it can be read. */
function begin(flow: ReturnType<typeof useReactFlow>, width: number, names: readonly string[]): Parameters<typeof flow.fitView>[0] {
  const [only] = names;
  const whole = flow.getNodesBounds(flow.getNodes());
  if (only === undefined || width > narrow || whole.width * clear <= width) {
    return fit;
  }
  const all = flow.getNodesBounds([...names]).width * clear <= width ? names : [only];
  return { ...fit, minZoom: clear, nodes: all.map((id) => ({ id })) };
}

function Tools({ working, first, places, final, still }: { working: (() => string[]) | undefined; first: (() => string[]) | undefined; places: Places; final: boolean; still: boolean }) {
  const flow = useReactFlow();
  const store = useStoreApi();
  const names = useRef(first);
  useEffect(() => {
    names.current = first;
  });
  const room = useStore(({ width, height }) => (still ? `${width} ${height}` : ""));
  useEffect(() => {
    const frame = requestAnimationFrame(() => void flow.fitView(begin(flow, store.getState().width, names.current?.() ?? [])));
    return () => cancelAnimationFrame(frame);
  }, [flow, store, places, room]);
  return (
    <Panel position="top-right" className="flex gap-1 rounded-md border border-line bg-surface p-0.5">
      <span className="sr-only" role="status">
        {final ? "" : "The graph is being laid out"}
      </span>
      {working && (
        <Button
          tone="quiet"
          icon={<Focus aria-hidden size={15} />}
          onClick={() => {
            const names = working();
            void flow.fitView(names.length === 0 ? fit : { ...fit, nodes: names.map((id) => ({ id })) });
          }}
        >
          What works
        </Button>
      )}
      <IconButton label="Zoom in" onClick={() => void flow.zoomIn()}>
        <ZoomIn size={16} />
      </IconButton>
      <IconButton label="Zoom out" onClick={() => void flow.zoomOut()}>
        <ZoomOut size={16} />
      </IconButton>
      <IconButton label="The whole graph" onClick={() => void flow.fitView(fit)}>
        <Maximize size={16} />
      </IconButton>
    </Panel>
  );
}

const none: never[] = [];

function drawnOf(nodes: readonly FlowNode[], places: Places, size: Size, selected: string | undefined, select: Data["select"], card: Data["card"], labelOf: Data["labelOf"]): Drawn[] {
  return nodes.map((node) => {
    const position = places[node.name] ?? { x: 0, y: 0 };
    return {
      id: node.name,
      type: "card",
      position,
      // Not moved there by a transform: each would be drawn by itself.
      style: { transform: "none", left: position.x, top: position.y },
      ...size,
      // What the library would measure, of each.
      measured: size,
      handles: none,
      data: { node, card, labelOf, select, selected: node.name === selected },
    };
  });
}

/** Whether two nodes look the same. */
function sameBy(alike: (a: FlowNode, b: FlowNode) => boolean = Object.is): (a: Drawn, b: Drawn) => boolean {
  return (a, b) =>
    a.data.selected === b.data.selected &&
    a.data.select === b.data.select &&
    a.data.card === b.data.card &&
    a.position.x === b.position.x &&
    a.position.y === b.position.y &&
    a.measured === b.measured &&
    (a.data.node === b.data.node || alike(a.data.node, b.data.node));
}

const fills: Record<Tone, string> = { ok: "bg-ok-soft", warn: "bg-warn-soft", bad: "bg-bad-soft", info: "bg-info-soft", muted: "bg-surface" };

/**
 * A name as far as two lines hold it. It is not clipped by the card: what clips is
 * drawn by itself, a thousand times.
 */
function cut(name: string): string {
  const letters = Array.from(name);
  const most = /^[ -~]*$/.test(name) ? 22 : 12;
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : name;
}

const Card = memo(function Card({ data }: NodeProps<Drawn>) {
  const { node, selected, select, card, labelOf } = data;
  const far = useContext(Far);
  const word = far ? (labelOf?.(node as never) ?? "") : "";
  const inside = far ? <span className="my-auto text-far font-semibold break-all" aria-hidden={!select}>{cut(node.name)}</span> : card(node as never);
  const look = `pointer-events-auto flex h-full w-full flex-col items-stretch gap-0.5 ${far ? "" : "overflow-hidden"} rounded-md border-2 px-2 py-1.5 text-left ${far && word !== "" ? fills[toneOf(word)] : "bg-surface"} ${selected ? "border-accent" : node.critical ? "border-accent/50" : "border-line"}`;
  return select ? (
    <button type="button" aria-pressed={selected} aria-label={far ? [node.name, node.critical ? "on the critical path" : "", word].filter(Boolean).join(" ") : undefined} className={`nodrag nopan ${look}`} onClick={() => select(node.name)}>
      {inside}
    </button>
  ) : (
    <div className={look} title={far ? node.name : undefined}>
      {far && <span className="sr-only">{node.name}</span>}
      {inside}
    </div>
  );
});

const nodeTypes = { card: Card };
