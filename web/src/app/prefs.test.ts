import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";

import { keepLook, prefs } from "@/app/prefs";
import { looks } from "@/palette/looks";
import { rank } from "@/palette/rank";

test("the page looks as this browser keeps it, from the first paint on", () => {
  const { dataset } = document.documentElement;
  prefs.getState().setDensity("dense");
  keepLook();
  expect(dataset).toMatchObject({ theme: "system", density: "dense" });
  prefs.getState().setTheme("dark");
  expect(dataset).toMatchObject({ theme: "dark", density: "dense" });
  expect(JSON.parse(localStorage.getItem("cmux-prefs") ?? "")).toMatchObject({ state: { theme: "dark", density: "dense" } });
});

test("the palette sets how the page looks, by the words that people type", () => {
  const best = (typed: string) => rank(looks, typed, 1)[0];
  for (const typed of ["dense", "compact", "density dense", "use dense"]) {
    best(typed)?.set();
    expect(prefs.getState().density, typed).toBe("dense");
    best("comfortable")?.set();
    expect(prefs.getState().density).toBe("comfortable");
  }
  best("dark mode")?.set();
  expect(prefs.getState().theme).toBe("dark");
});

test("the dense step is smaller than the other in each size that both have", () => {
  const css = readFileSync(resolve(import.meta.dirname, "../styles.css"), "utf8");
  const [comfortable = "", dense = ""] = css.split(':root[data-density="dense"] {');
  const tokens = [...(dense.split("}")[0] ?? "").matchAll(/(--[\w-]+): ([^;]+);/g)];
  const size = (value = "") => Number(/[\d.]+/.exec(value)?.[0]) * (/^[\d.]+rem/.test(value) ? 14 : 1);
  expect(tokens.map(([, name]) => name)).toEqual(["--line", "--text-sm", "--text-code", "--text-base", "--text-title", "--spacing", "--column"]);
  for (const [, name = "", value] of tokens) {
    expect(size(value), name).toBeLessThan(size(new RegExp(`${name}: ([^;]+);`).exec(comfortable)?.[1]));
  }
});
