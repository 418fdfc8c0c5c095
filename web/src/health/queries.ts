import { hooks, type Api } from "@/api/client";

export function useIncidents(all: boolean) {
  return hooks.useInfiniteQuery(
    "get",
    "/api/incidents",
    { params: { query: { all, limit: 100 } } },
    { pageParamName: "cursor", initialPageParam: "", getNextPageParam: (p: Api<"ListIncident">) => p.next },
  );
}

export function useHeartbeat() {
  return hooks.useQuery("get", "/api/heartbeat");
}

export function useRecovery() {
  return hooks.useQuery("get", "/api/recover");
}
