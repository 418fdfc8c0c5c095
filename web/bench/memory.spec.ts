import { expect, test } from "../e2e/organization";

const events = 1_000_000;
const parts = 10;

declare global {
  interface Window {
    tell: (n: number) => Promise<void>; // events that come over the page's connection
  }
}

/** The page's own code behind a connection that gives as many events as it is asked for. */
test("memory over 1,000,000 events", async ({ org, page }) => {
  org.start();
  await page.addInitScript(() => {
    let seq = 0;
    let socket: Told | undefined;
    class Told extends EventTarget {
      static readonly OPEN = 1;
      readonly readyState = 1;
      onmessage: ((e: { data: string }) => void) | null = null;
      constructor() {
        super();
        socket = this; // eslint-disable-line @typescript-eslint/no-this-alias
        setTimeout(() => this.say({ type: "hello", epoch: "a", seq }));
      }
      say(m: unknown): void {
        this.onmessage?.({ data: JSON.stringify(m) });
      }
      send(): void {
        setTimeout(() => this.say({ type: "live", epoch: "a", seq }));
      }
      close(): void {
        // it stays
      }
    }
    Object.assign(window, { WebSocket: Told });
    window.tell = async (n) => {
      for (let told = 0; told < n; told += 500) {
        const batch = Array.from({ length: 500 }, (_, i) => {
          seq++;
          const node = `n${i % 40}`;
          return { event: "run_event", seq, at: new Date().toISOString(), source: `run:r1/${node}`, kind: "tool_result", name: node, data: { node, attempt: 1, kind: "tool_result", text: `result of call ${seq}` } };
        });
        socket?.say({ type: "events", events: batch });
        await new Promise((done) => setTimeout(done, 4));
      }
    };
  });
  await org.open(page, "/activity");
  const cdp = await page.context().newCDPSession(page);
  const used = async () => {
    await cdp.send("HeapProfiler.collectGarbage");
    return (await cdp.send("Runtime.getHeapUsage")).usedSize / 1e6;
  };
  const megabytes: number[] = [];
  for (let i = 0; i < parts; i++) {
    await page.evaluate((n) => window.tell(n), events / parts);
    await page.waitForTimeout(500);
    megabytes.push(await used());
  }
  console.log(`memory at each ${events / parts} events: ${megabytes.map((m) => m.toFixed(1)).join(", ")} MB`);
  expect(megabytes.at(-1)).toBeLessThan((megabytes[0] ?? 0) * 1.25 + 2);
});
