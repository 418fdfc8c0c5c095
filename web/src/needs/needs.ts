import { hooks } from "@/api/client";

/** What waits for the person, the longest first; `total` counts also what is not listed. */
export function useNeeds() {
  return hooks.useQuery("get", "/api/needs", { params: { query: { limit: 1000 } } });
}
