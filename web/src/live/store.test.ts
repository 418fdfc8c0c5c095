import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Refresher } from "@/live/store";
import { touches } from "@/live/touches";

describe("Refresher", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("asks for what an event touches, once for many, and never two at a time", async () => {
    const client = new QueryClient();
    const asked: string[] = [];
    const observe = (path: string) => {
      const observer = new QueryObserver(client, {
        queryKey: ["get", path, {}],
        staleTime: Number.POSITIVE_INFINITY,
        queryFn: async () => {
          asked.push(path);
          await new Promise((done) => setTimeout(done, 400));
          return asked.length;
        },
      });
      return observer.subscribe(() => undefined);
    };
    const ends = [observe("/api/tasks"), observe("/api/runs")];
    await vi.advanceTimersByTimeAsync(500);
    asked.length = 0;

    const queries = new Refresher(client);
    for (let i = 0; i < 100; i++) {
      queries.add(touches({ event: "run_event", at: "", data: null }));
    }
    await vi.advanceTimersByTimeAsync(30);
    expect(asked).toEqual(["/api/runs"]);
    queries.add(touches({ event: "run_event", at: "", data: null })); // while that is under way
    await vi.advanceTimersByTimeAsync(300);
    expect(asked).toEqual(["/api/runs"]);
    await vi.advanceTimersByTimeAsync(500);
    expect(asked).toEqual(["/api/runs", "/api/runs"]);
    await vi.advanceTimersByTimeAsync(5000);
    expect(asked).toHaveLength(2);
    ends.forEach((end) => end());
    queries.end();
  });

  it("asks for everything when it does not know an event", () => {
    expect(touches({ event: "of a later version", at: "", data: null })).toEqual(["/api/"]);
  });
});
