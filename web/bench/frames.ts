import type { Page } from "@playwright/test";

/** How smooth the page was: frames in a second, and the longest that all but one in a hundred took. */
export interface Smooth {
  fps: number;
  p99: number; // ms
}

/** Counts the frames that the page draws while something is done with it. */
export async function frames(page: Page, during: () => Promise<unknown>): Promise<Smooth> {
  await page.evaluate(() => {
    const times: number[] = [];
    const tick = (t: number) => {
      times.push(t);
      if (!("counted" in window && window.counted === true)) {
        requestAnimationFrame(tick);
      }
    };
    Object.assign(window, { frameTimes: times, counted: false });
    requestAnimationFrame(tick);
  });
  await during();
  const times = await page.evaluate(() => {
    Object.assign(window, { counted: true });
    return (window as unknown as { frameTimes: number[] }).frameTimes;
  });
  const gaps = times.slice(1).map((t, i) => t - (times[i] ?? t));
  gaps.sort((a, b) => a - b);
  // Nothing was drawn at all: one frame in all that time, at most.
  return gaps.length === 0 ? { fps: 0, p99: Number.POSITIVE_INFINITY } : { fps: gaps.length / (((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000), p99: gaps[Math.floor(gaps.length * 0.99)] ?? Number.NaN };
}

export function said({ fps, p99 }: Smooth): string {
  return `${fps.toFixed(0)} frames/s (p99 ${p99.toFixed(0)} ms)`;
}
