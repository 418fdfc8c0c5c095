import { prefs, type Density, type Theme } from "@/app/prefs";
import type { Findable } from "@/palette/rank";

/** A choice of how the page looks in this browser. */
export interface Look extends Findable {
  kind: "command";
  set: () => void;
}

const densities: readonly (readonly [Density, label: string, words: string])[] = [
  ["dense", "Use the dense layout", "density compact tight small rows spacing font size settings"],
  ["comfortable", "Use the comfortable layout", "density roomy large rows spacing font size settings"],
];

const themes: readonly (readonly [Theme, label: string, words: string])[] = [
  ["dark", "Use the dark theme", "mode night black colors settings"],
  ["light", "Use the light theme", "mode day white colors settings"],
  ["system", "Use the system's theme", "mode automatic colors settings"],
];

export const looks: readonly Look[] = [
  ...densities.map(([density, label, words]): Look => ({ kind: "command", label, words, set: () => prefs.getState().setDensity(density) })),
  ...themes.map(([theme, label, words]): Look => ({ kind: "command", label, words, set: () => prefs.getState().setTheme(theme) })),
];
