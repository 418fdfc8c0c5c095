import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { took } from "@/api/cost";
import { gap, Refresher } from "@/live/store";
import { touches } from "@/live/touches";

describe("Refresher", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** Queries that are seen, each with how long its answer takes; and what was asked, with when. */
  function watch(client: QueryClient, paths: Record<string, number>) {
    const asked: string[] = [];
    const ends = Object.entries(paths).map(([path, ms]) =>
      new QueryObserver(client, {
        queryKey: ["get", path, {}],
        staleTime: Number.POSITIVE_INFINITY,
        queryFn: async () => {
          asked.push(path);
          await new Promise((done) => setTimeout(done, ms));
          return asked.length;
        },
      }).subscribe(() => undefined),
    );
    return { asked, end: () => ends.forEach((end) => end()) };
  }
  const changed = (...routes: string[]) => touches({ event: "changed", at: "", data: { routes } });

  it("asks for what an event touches, once for many, and never two at a time", async () => {
    const client = new QueryClient();
    const { asked, end } = watch(client, { "/api/tasks": 400, "/api/runs": 400 });
    await vi.advanceTimersByTimeAsync(500);
    asked.length = 0;

    const queries = new Refresher(client);
    for (let i = 0; i < 100; i++) {
      queries.add(changed("/api/runs"));
    }
    await vi.advanceTimersByTimeAsync(30);
    expect(asked).toEqual(["/api/runs"]);
    queries.add(changed("/api/runs")); // while that is under way
    await vi.advanceTimersByTimeAsync(300);
    expect(asked).toEqual(["/api/runs"]);
    await vi.advanceTimersByTimeAsync(400 + gap(400));
    expect(asked).toEqual(["/api/runs", "/api/runs"]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toHaveLength(2);
    end();
    queries.end();
  });

  it("asks seldom for what takes long, and lets it hold nothing else up", async () => {
    const client = new QueryClient();
    const { asked, end } = watch(client, { "/api/runs/{id}/merge/queue": 500, "/api/runs/{id}/graph": 5 });
    await vi.advanceTimersByTimeAsync(500);
    asked.length = 0;

    const queries = new Refresher(client);
    for (let i = 0; i < 300; i++) {
      queries.add(changed("/api/runs/r1"));
      await vi.advanceTimersByTimeAsync(100);
    }
    const times = (path: string) => asked.filter((a) => a === path).length;
    expect(times("/api/runs/{id}/merge/queue")).toBeLessThanOrEqual(4); // in 30 s, and not 4 times a second
    expect(times("/api/runs/{id}/merge/queue")).toBeGreaterThanOrEqual(3);
    expect(times("/api/runs/{id}/graph")).toBeGreaterThan(140);
    expect(times("/api/runs/{id}/graph")).toBeLessThanOrEqual(300);
    end();
    queries.end();
  });

  it("goes by what the server says of its cost, not by its own wait", async () => {
    const client = new QueryClient();
    took("/api/busy", "app;dur=2");
    const { asked, end } = watch(client, { "/api/busy": 200 });
    await vi.advanceTimersByTimeAsync(500);
    asked.length = 0;

    const queries = new Refresher(client);
    for (let i = 0; i < 300; i++) {
      queries.add(["/api/busy"]);
      await vi.advanceTimersByTimeAsync(10);
    }
    expect(asked.length).toBeGreaterThanOrEqual(9); // every 300 ms, and not every 4 s
    end();
    queries.end();
  });

  it("asks once more when an event comes before the first answer", async () => {
    const client = new QueryClient();
    const { asked, end } = watch(client, { "/api/runs": 300 });
    await vi.advanceTimersByTimeAsync(100);
    const queries = new Refresher(client);
    queries.add(changed("/api/runs"));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toHaveLength(2);
    end();
    queries.end();
  });

  it("has what nobody sees asked when it is seen", async () => {
    const client = new QueryClient();
    const first = watch(client, { "/api/runs": 5 });
    await vi.advanceTimersByTimeAsync(10);
    first.end();
    const queries = new Refresher(client);
    queries.add(["/api/runs"]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(first.asked).toHaveLength(1);
    const again = watch(client, { "/api/runs": 5 });
    await vi.advanceTimersByTimeAsync(10);
    expect(again.asked).toHaveLength(1);
    again.end();
    queries.end();
  });

  it("asks for everything when it does not know an event", () => {
    expect(touches({ event: "of a later version", at: "", data: null })).toEqual(["/api/"]);
  });
});
