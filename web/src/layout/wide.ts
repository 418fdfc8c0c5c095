import { useSyncExternalStore } from "react";

const query = "(min-width: 64rem)";

function subscribe(look: () => void): () => void {
  const media = window.matchMedia(query);
  media.addEventListener("change", look);
  return () => media.removeEventListener("change", look);
}

/** Whether there is room for panes beside each other. */
export function useWide(): boolean {
  return useSyncExternalStore(subscribe, () => window.matchMedia(query).matches);
}
