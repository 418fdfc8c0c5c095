import { useLayoutEffect, useState, type RefObject } from "react";

/** Whether an element is at least so many pixels wide. It is measured before it is seen. */
export function useWide(ref: RefObject<HTMLElement | null>, least: number): boolean {
  const [wide, setWide] = useState(false);
  useLayoutEffect(() => {
    if (!ref.current) {
      return;
    }
    setWide(ref.current.clientWidth >= least);
    const watch = new ResizeObserver(([entry]) => setWide((entry?.contentRect.width ?? 0) >= least));
    watch.observe(ref.current);
    return () => watch.disconnect();
  }, [ref, least]);
  return wide;
}
