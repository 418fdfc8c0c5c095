import { api, type Api } from "@/api/client";
import { useOrder } from "@/ui/toasts";

/** The orders about a node, by their names on the command line. */
export function useNodeOrders(run: string, node: string) {
  const params = { params: { path: { id: run, node } } };
  const noted = (done: string) => (out: { data?: { note?: string; done?: boolean } | undefined }) => out.data?.note ?? (out.data?.done === false ? `${node}: ordered; it is carried out when it can be.` : done);
  return {
    approve: useOrder(() => api.POST("/api/runs/{id}/nodes/{node}/approve", params), noted(`${node} is approved.`)),
    override: useOrder(() => api.POST("/api/runs/{id}/nodes/{node}/override", params), noted(`${node} counts as done.`)),
    release: useOrder(() => api.POST("/api/runs/{id}/nodes/{node}/release", params), noted(`${node} is given back.`)),
    stop: useOrder(() => api.POST("/api/runs/{id}/nodes/{node}/stop", params), noted(`${node} is cancelled.`)),
    retry: useOrder(
      (body: { fresh?: boolean; downstream?: boolean }) => api.POST("/api/runs/{id}/nodes/{node}/retry", { ...params, body }),
      noted(`${node} runs again.`),
    ),
    answer: useOrder(
      (body: Api<"Answer">) => api.POST("/api/runs/{id}/nodes/{node}/answer", { ...params, body }),
      (out) => out.data?.note ?? (out.data?.asked === false ? `${node} reads it when its turn is over.` : `${node} is answered.`),
    ),
  };
}
