import type { Api } from "@/api/client";

/** The tokens that count of the buckets that began on the day of `now`, in the reader's time zone. */
export function today(history: Api<"History">, now: Date): number {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  let sum = 0;
  for (const s of history.series) {
    for (const b of s.buckets) {
      if (Date.parse(b.at) >= midnight) {
        sum += b.counted;
      }
    }
  }
  return sum;
}
