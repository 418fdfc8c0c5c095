import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { usePrefs } from "@/app/prefs";
import { layOut } from "@/runs/graph/elk";
import { layered, shapeKey, sizes, type Laid, type Point, type ShapeNode, type Size } from "@/runs/graph/shape";

const noLines: ReadonlyMap<string, readonly Point[]> = new Map();

/** Where nodes stand, and the nodes as they are joined, the same until another shape comes: worked out once for a shape; until then in plain columns, without edges. */
export function usePlaces(nodes: readonly ShapeNode[]): { laid: Laid; final: boolean; shape: readonly ShapeNode[]; size: Size } {
  const key = shapeKey(nodes);
  const size = sizes[usePrefs((p) => p.density)];
  const laid = useQuery({ queryKey: ["places", key, size.width], queryFn: ({ signal }) => layOut(nodes, size, signal), staleTime: Number.POSITIVE_INFINITY, retry: false });
  // eslint-disable-next-line react-hooks/exhaustive-deps -- the key is all that matters of the nodes
  const shape = useMemo(() => nodes, [key]);
  const plain = useMemo((): Laid => ({ places: layered(shape, size), lines: noLines }), [shape, size]);
  return { laid: laid.data ?? plain, final: !laid.isPending, shape, size };
}
