import { useEffect, useState } from "react";

/** A value once it has stood for some time; before, the one that did last, or `first`. */
export function useLater<T, F = T>(value: T, ms: number, ...first: [F?]): T | F {
  const [late, setLate] = useState<T | F>(() => (first.length === 0 ? value : (first[0] as F)));
  useEffect(() => {
    const timer = window.setTimeout(() => setLate(() => value), ms);
    return () => window.clearTimeout(timer);
  }, [value, ms]);
  return late;
}
