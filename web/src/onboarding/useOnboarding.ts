import { hooks, type Api } from "@/api/client";

export function useOnboarding() {
  return hooks.useQuery("get", "/api/onboarding", {}, { staleTime: 30_000 });
}

/** Whether a project has no run and no organization so far. */
export function isNew({ steps }: Api<"Onboarding">): boolean {
  return !steps.some((s) => (s.id === "run" || s.id === "organization") && s.done);
}
