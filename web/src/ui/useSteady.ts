import { useLater } from "@/ui/useLater";

/** How long something is shown before a click on it counts, in milliseconds. */
const settling = 500;

/**
 * Whether what stands under the pointer has been there long enough to have been meant by
 * a click. It is named by `what`: as that changes live, a click that was already under
 * way is for what was there before. The keyboard needs no guard: its focus goes with
 * what had it.
 */
export function useSteady(what: string): boolean {
  const settled = useLater(what, settling, undefined);
  return settled === what;
}

/** How what is not steady yet takes no click. */
export const steadyClass = (steady: boolean): string => (steady ? "" : "pointer-events-none");
