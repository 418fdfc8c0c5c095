import { useEffect, useState } from "react";

/** A value once it has stood for some time. */
export function useLater<T>(value: T, ms: number): T {
  const [late, setLate] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setLate(value), ms);
    return () => window.clearTimeout(timer);
  }, [value, ms]);
  return late;
}
