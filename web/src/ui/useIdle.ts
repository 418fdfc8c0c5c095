import { useEffect, useState } from "react";

/** How long what is not needed at first waits for the browser to rest, in milliseconds. */
const patience = 2000;

/** Whether the browser has rested since this was drawn first. */
export function useIdle(): boolean {
  const [idle, setIdle] = useState(false);
  useEffect(() => {
    const rest = () => setIdle(true);
    if (!("requestIdleCallback" in window)) { // Safari
      const timer = globalThis.setTimeout(rest, 200);
      return () => globalThis.clearTimeout(timer);
    }
    const wait = window.requestIdleCallback(rest, { timeout: patience });
    return () => window.cancelIdleCallback(wait);
  }, []);
  return idle;
}
