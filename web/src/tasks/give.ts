import { api, type Api } from "@/api/client";

const at = (id: string) => ({ params: { path: { id } } });
const why = (reason: string) => (reason === "" ? {} : { reason });

export const give = {
  add: (body: Api<"TaskFields">) => api.POST("/api/tasks", { body }),
  assign: ({ id, agent }: { id: string; agent: string }) => api.POST("/api/tasks/{id}/assign", { ...at(id), body: { agent } }),
  /** A task that an agent works on, as its next attempt. */
  again: async ({ id, agent }: { id: string; agent: string }) => {
    await api.POST("/api/tasks/{id}/pause", { ...at(id), body: why("assigned again") });
    return api.POST("/api/tasks/{id}/assign", { ...at(id), body: { agent } });
  },
  cancel: ({ id, reason }: { id: string; reason: string }) => api.POST("/api/tasks/{id}/cancel", { ...at(id), body: why(reason) }),
  pause: ({ id, reason }: { id: string; reason: string }) => api.POST("/api/tasks/{id}/pause", { ...at(id), body: why(reason) }),
  done: ({ id, reason }: { id: string; reason: string }) => api.POST("/api/tasks/{id}/done", { ...at(id), body: why(reason) }),
  take: (id: string) => api.POST("/api/tasks/{id}/take", at(id)),
  comment: ({ id, text }: { id: string; text: string }) => api.POST("/api/tasks/{id}/comments", { ...at(id), body: { text } }),
};
