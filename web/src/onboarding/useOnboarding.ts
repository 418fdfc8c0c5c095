import { hooks } from "@/api/client";

export function useOnboarding() {
  return hooks.useQuery("get", "/api/onboarding", {}, { staleTime: 30_000 });
}
