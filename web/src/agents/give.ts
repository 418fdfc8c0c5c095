import { api, type Api } from "@/api/client";

/* The orders for an agent, as functions. What they may do is the server's to say. */

type Name = string;
const at = (name: Name) => ({ params: { path: { name } } });

export const give = {
  send: ({ name, text }: { name: Name; text: string }) => api.POST("/api/agents/{name}/send", { ...at(name), body: { text } }),
  answer: ({ name, ...body }: { name: Name } & Api<"Answer">) => api.POST("/api/agents/{name}/answer", { ...at(name), body }),
  assign: ({ name, ...body }: { name: Name } & Api<"PostAgentsNameAssignRequest">) => api.POST("/api/agents/{name}/assign", { ...at(name), body }),
  reset: (name: Name) => api.POST("/api/agents/{name}/reset", at(name)),
  wake: (name: Name) => api.POST("/api/agents/{name}/wake", at(name)),
  take: (name: Name) => api.POST("/api/agents/{name}/take", at(name)),
  release: (name: Name) => api.POST("/api/agents/{name}/release", at(name)),
  clone: (name: Name) => api.POST("/api/agents/{name}/clone", at(name)),
  mergeClone: (name: Name) => api.POST("/api/agents/{name}/merge-clone", at(name)),
  demote: (name: Name) => api.POST("/api/agents/{name}/demote", at(name)),
  remove: ({ name, force }: { name: Name; force: boolean }) => api.DELETE("/api/agents/{name}", { params: { path: { name }, query: { force } } }),
  spawn: (body: Api<"Spawn">) => api.POST("/api/agents", { body }),
};
