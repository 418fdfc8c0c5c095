import { useEffect, useState, type RefObject } from "react";

/** Whether an element is at least so many pixels wide; false before it is measured. */
export function useWide(box: RefObject<HTMLElement | null>, least: number): boolean {
  const [wide, setWide] = useState(false);
  useEffect(() => {
    const element = box.current;
    if (!element) {
      return;
    }
    const watch = new ResizeObserver(([entry]) => setWide((entry?.contentRect.width ?? 0) >= least));
    watch.observe(element);
    return () => watch.disconnect();
  }, [box, least]);
  return wide;
}
