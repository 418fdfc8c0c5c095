import { createStore, useStore } from "zustand";
import { persist } from "zustand/middleware";

export type Theme = "system" | "light" | "dark";

/** How much room a row takes. */
export type Density = "comfortable" | "dense";

interface Prefs {
  theme: Theme;
  density: Density;
  enterSends: boolean; // else Enter breaks the line, and Ctrl+Enter sends
  layouts: Readonly<Record<string, Readonly<Record<string, number>>>>; // by group of panels: percent by panel
  hidden: Readonly<Record<string, boolean>>; // parts of pages that are hidden, or not although they would be
  setTheme: (theme: Theme) => void;
  setDensity: (density: Density) => void;
  setEnterSends: (on: boolean) => void;
  setHidden: (part: string, hidden: boolean) => void;
  setLayout: (group: string, layout: Readonly<Record<string, number>>) => void;
}

/** What this browser keeps of how the page looks. */
export const prefs = createStore<Prefs>()(
  persist(
    (set) => ({
      theme: "system",
      density: "comfortable",
      enterSends: true,
      layouts: {},
      hidden: {},
      setTheme: (theme) => set({ theme }),
      setDensity: (density) => set({ density }),
      setEnterSends: (enterSends) => set({ enterSends }),
      setHidden: (part, is) => set(({ hidden }) => ({ hidden: { ...hidden, [part]: is } })),
      setLayout: (group, layout) => set(({ layouts }) => ({ layouts: { ...layouts, [group]: layout } })),
    }),
    { name: "cmux-prefs", version: 1 },
  ),
);

export function usePrefs<T>(select: (p: Prefs) => T): T {
  return useStore(prefs, select);
}

/** Has the styles follow the theme and the density, from now on. */
export function keepLook(): void {
  const look = ({ theme, density }: Prefs) => Object.assign(document.documentElement.dataset, { theme, density });
  look(prefs.getState());
  prefs.subscribe(look);
}
