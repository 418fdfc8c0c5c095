import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { layOut } from "@/runs/graph/elk";
import { routes } from "@/runs/graph/route";
import { layered, shapeKey, type Laid, type ShapeNode } from "@/runs/graph/shape";

/** Where nodes stand, and the nodes as they are joined, the same until another shape comes: worked out once for a shape, and in plain columns until then. */
export function usePlaces(nodes: readonly ShapeNode[]): { laid: Laid; final: boolean; shape: readonly ShapeNode[] } {
  const key = shapeKey(nodes);
  const laid = useQuery({ queryKey: ["places", key], queryFn: ({ signal }) => layOut(nodes, signal), staleTime: Number.POSITIVE_INFINITY, retry: false });
  // eslint-disable-next-line react-hooks/exhaustive-deps -- the key is all that matters of the nodes
  const shape = useMemo(() => nodes, [key]);
  const plain = useMemo(() => {
    const places = layered(shape);
    return { places, lines: routes(shape, places) };
  }, [shape]);
  return { laid: laid.data ?? plain, final: !laid.isPending, shape };
}
