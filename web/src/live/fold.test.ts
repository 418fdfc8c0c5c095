import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { behind, kept, keptText, nothing, step, type Input, type Log } from "@/live/fold";
import { parse, type Frame, type Message } from "@/live/protocol";

const frame = (seq: number): Frame => ({ event: "agent_event", seq, at: "2026-01-01T00:00:00Z", data: { seq } });

/** A server with a log, which answers as server/live does. */
class Server {
  events: Frame[] = [];
  epoch = "a";

  append(n: number): Frame[] {
    const fresh = Array.from({ length: n }, () => frame(0));
    for (const e of fresh) {
      this.events.push(e);
      e.seq = this.events.length;
    }
    return fresh;
  }

  reset(): void {
    this.epoch += "a";
    this.events = this.events.slice(0, this.events.length / 2);
  }

  hello(): Message {
    return { type: "hello", epoch: this.epoch, seq: this.events.length, instance: "i" };
  }

  answer(epoch: string, seq: number): Message[] {
    if (epoch !== this.epoch || seq > this.events.length) {
      return [{ type: "reload", epoch: this.epoch, seq: this.events.length }];
    }
    const missed = this.events.slice(seq);
    const parts: Message[] = [];
    for (let i = 0; i < missed.length; i += 3) {
      parts.push({ type: "events", events: missed.slice(i, i + 3) });
    }
    return [...parts, { type: "live", epoch: this.epoch, seq: this.events.length }];
  }
}

/** A page that has its own view of the log: what its lists were loaded with, and each event since. */
class Page {
  log: Log = nothing;
  view: number[] = [];

  constructor(readonly server: Server) {}

  take(m: Message): void {
    const [log, effects] = step(this.log, { type: "message", message: m });
    this.log = log;
    if (effects.reload) {
      this.view = this.server.events.map((e) => e.seq ?? 0);
    }
    this.view.push(...effects.events.flatMap((e) => (e.seq === undefined ? [] : [e.seq])));
    if (effects.send) {
      for (const answer of this.server.answer(effects.send.epoch, effects.send.seq)) {
        this.take(answer);
      }
    }
  }

  lose(): void {
    [this.log] = step(this.log, { type: "lost" });
  }
}

type Deed = { do: "append"; n: number } | { do: "lose" } | { do: "reset" } | { do: "behind" } | { do: "repeat"; n: number };

const deeds = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant("append" as const), n: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ do: fc.constant("lose" as const) }),
    fc.record({ do: fc.constant("reset" as const) }),
    fc.record({ do: fc.constant("behind" as const) }),
    fc.record({ do: fc.constant("repeat" as const), n: fc.integer({ min: 1, max: 5 }) }),
  ),
  { maxLength: 40 },
);

describe("the fold", () => {
  it("has the server's own view of the log after any faults", () => {
    fc.assert(
      fc.property(deeds, (all: Deed[]) => {
        const server = new Server();
        server.append(4);
        const page = new Page(server);
        let connected = false as boolean;
        const connect = () => {
          page.take(server.hello());
          connected = true;
        };
        const lose = () => {
          page.lose();
          connected = false;
        };
        connect();
        for (const deed of all) {
          switch (deed.do) {
            case "append": {
              const fresh = server.append(deed.n);
              if (connected) {
                page.take({ type: "events", events: fresh });
              }
              break;
            }
            case "lose":
              lose();
              break;
            case "reset":
              lose();
              server.reset();
              break;
            case "behind":
              server.append(3); // these are not sent
              if (connected) {
                page.take({ type: "behind", seq: page.log.seq });
              }
              break;
            case "repeat":
              if (connected) {
                page.take({ type: "events", events: server.events.slice(-deed.n) });
              } else {
                connect();
              }
              break;
          }
        }
        lose();
        connect();
        expect(page.view).toEqual(server.events.map((e) => e.seq));
        expect(page.log.phase).toBe("live");
        expect(behind(page.log)).toBe(0);
      }),
    );
  });

  it("keeps a bounded number of events", () => {
    let log: Log = { ...nothing, epoch: "a", phase: "live" };
    for (let at = 1; at < 50_000; at += 500) {
      [log] = step(log, { type: "message", message: { type: "events", events: Array.from({ length: 500 }, (_, i) => frame(at + i)) } });
    }
    expect(log.recent).toHaveLength(kept);
    expect(log.recent.at(-1)?.seq).toBe(log.seq);
  });

  it("keeps as much after a million events as after a few thousand", () => {
    const size = (l: Log) => JSON.stringify(l).length;
    let log: Log = { ...nothing, epoch: "a", phase: "live" };
    let early = 0;
    for (let at = 1; at <= 1_000_000; at += 500) {
      [log] = step(log, { type: "message", message: { type: "events", events: Array.from({ length: 500 }, (_, i) => frame(at + i)) } });
      if (at === 5001) {
        early = size(log);
      }
    }
    expect(log.seq).toBe(1_000_000);
    expect(size(log)).toBeLessThan(early * 1.2); // the numbers are longer
  });

  it("keeps the short part of a large event, and hands the whole on", () => {
    const text = "x".repeat(1_000_000);
    const big = (seq: number): Frame => ({ ...frame(seq), data: { tool: "Write", text, input: { deep: [text] }, failed: true } });
    let log: Log = { ...nothing, epoch: "a", phase: "live" };
    for (let seq = 1; seq <= 20; seq++) {
      const [next, effects] = step(log, { type: "message", message: { type: "events", events: [big(seq)] } });
      log = next;
      expect(effects.events).toEqual([big(seq)]);
    }
    expect(log.recent).toHaveLength(20);
    expect(log.recent[0]).toMatchObject({ seq: 1, cut: true, data: { tool: "Write", text: "x".repeat(400), failed: true } });
    expect(JSON.stringify(log.recent).length).toBeLessThan(20 * 2 * keptText);
    const small = frame(21);
    [log] = step(log, { type: "message", message: { type: "events", events: [small] } });
    expect(log.recent.at(-1)).toBe(small);
  });

  it("takes what members of rooms are writing, which has no seq", () => {
    let log: Log = { ...nothing, phase: "live", epoch: "a", seq: 7 };
    const delta = (name: string, data: object) => {
      const e: Frame = { event: "room_delta", at: "2026-01-01T00:00:00Z", source: "room:design", name, data };
      const [next, effects] = step(log, { type: "message", message: { type: "events", events: [e] } });
      expect([next.seq, next.recent.length, effects.events]).toEqual([7, 0, [e]]);
      log = next;
    };
    delta("ann", { text: "Post", since: "s0" });
    delta("bob", { text: "of it", cut: true, since: "s0" });
    delta("ann", { text: "Postgres", since: "s0" });
    expect(log.unfinished).toEqual({ "design.ann": { text: "Postgres", cut: false, since: "s0" }, "design.bob": { text: "of it", cut: true, since: "s0" } });
    delta("bob", { text: "", since: "s0" }); // broken off
    expect(Object.keys(log.unfinished)).toEqual(["design.ann"]);
    delta("ann", { text: "", since: "s1" }); // complete: whoever shows it has the event soon
    expect(log.unfinished["design.ann"]?.text).toBe("Postgres");
    delta("ann", { text: "And", since: "s1" });
    delta("ann", { text: "", since: "s1" });
    expect(log.unfinished).toEqual({});
    delta("ann", { text: "", since: "s1" });
    delta("ann", { text: "x", since: "s1" });
    const inputs: Input[] = [{ type: "lost" }, ...(["hello", "reload", "behind"] as const).map((type) => ({ type: "message" as const, message: { type, epoch: "a", seq: 7 } }))];
    for (const input of inputs) {
      expect(step(log, input)[0].unfinished).toEqual({}); // the server says it again
    }
  });

  it("takes the heartbeat, which has no seq", () => {
    const beat: Frame = { event: "heartbeat_update", at: "2026-01-01T00:00:00Z", data: { state: "up" } };
    const [log, effects] = step({ ...nothing, epoch: "a", seq: 7 }, { type: "message", message: { type: "events", events: [beat] } });
    expect(log.seq).toBe(7);
    expect(log.heartbeat).toBe(beat);
    expect(log.recent).toHaveLength(0);
    expect(effects.events).toEqual([beat]);
  });
});

describe("parse", () => {
  it.each(["", "{", "null", "7", '{"type":"other"}', '{"type":"events"}', '{"type":"events","events":{}}'])("takes %j for none", (text) => {
    expect(parse(text)).toBeUndefined();
  });
});

describe("a server that does not answer", () => {
  it("is behind until it says how far it is", () => {
    const live: Log = { ...nothing, phase: "live", epoch: "a", seq: 3, newest: 3 };
    const [silent] = step(live, { type: "silent" });
    expect(silent.phase).toBe("silent");
    expect(step(silent, { type: "message", message: { type: "live", seq: 4 } })[0].phase).toBe("live");
    expect(step(silent, { type: "lost" })[0].phase).toBe("offline");
    const [offline] = step(live, { type: "lost" });
    expect(step(offline, { type: "silent" })[0].phase).toBe("offline");
  });
});
