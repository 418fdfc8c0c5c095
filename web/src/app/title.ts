import { useEffect } from "react";

import { useWaiting } from "@/needs/needs";
import { usePageTitle } from "@/ui/page";

/**
 * Keeps the browser's title: how many things need the person, and the page. A component of its own: what
 * stands around it is not drawn again with each need.
 */
export function Title(): null {
  const needs = useWaiting()?.total ?? 0;
  const page = usePageTitle();
  useEffect(() => {
    document.title = `${needs > 0 ? `(${needs}) ` : ""}${page === "" ? "" : `${page} · `}cmux`;
  }, [needs, page]);
  return null;
}
