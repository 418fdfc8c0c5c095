/*
 * One websocket for all pages of a browser. The page that holds the lock has it, and
 * hands what it hears to the others over a channel. When it goes, the next one takes
 * the lock, and asks for what it missed itself.
 */
import { parse, type From, type Message } from "@/live/protocol";
import { beat, judge } from "@/live/pulse";

export interface Listener {
  connecting: () => void;
  message: (m: Message) => void;
  lost: () => void;
  /** The connection stands, and an answer is missing. */
  silent: () => void;
  /** The last event that was seen. */
  from: () => From;
}

const leastPause = 500;
const mostPause = 15_000;
const lockName = "cmux-live";

type Shared =
  | { type: "message"; message: Message }
  | { type: "lost" | "silent" }
  | { type: "join" } // a page came: who leads answers with how far it is
  | { type: "state"; seq: number; epoch: string };

/** Connects until the signal is aborted. */
export function connect(listener: Listener, signal: AbortSignal): void {
  const channel = new BroadcastChannel(lockName);
  let alone = true; // this page has heard from no other: nobody needs what it hears
  const post = (m: Shared) => {
    if (!signal.aborted && !(alone && m.type === "message")) {
      channel.postMessage(m);
    }
  };
  let leads = false;
  channel.onmessage = ({ data }: MessageEvent<Shared>) => {
    alone = false; // also one that came first: it has the lock, or hears this page join
    if (leads) {
      if (data.type === "join") {
        const { seq, epoch } = listener.from();
        post({ type: "state", seq, epoch });
      }
      return;
    }
    if (data.type === "message") {
      listener.message(data.message);
    } else if (data.type === "lost" || data.type === "silent") {
      listener[data.type]();
    } else if (data.type === "state" && data.epoch !== "" && listener.from().epoch === "") {
      const { seq, epoch } = data;
      listener.message({ type: "hello", epoch, seq });
      listener.message({ type: "live", epoch, seq });
    }
  };
  signal.addEventListener("abort", () => channel.close(), { once: true });
  post({ type: "join" });
  const hold = async () => {
    leads = true;
    await lead(listener, post, signal);
    leads = false;
  };
  // Where there are no locks, each page has a connection of its own.
  if ("locks" in navigator) {
    navigator.locks.request(lockName, { signal }, hold).catch(() => undefined);
  } else {
    void hold();
  }
}

/** Keeps a connection open: reconnects whenever it is lost. */
async function lead(listener: Listener, post: (m: Shared) => void, signal: AbortSignal): Promise<void> {
  let pause = leastPause;
  const over = () => signal.aborted;
  while (!over()) {
    listener.connecting();
    const began = Date.now();
    await session(listener, post, signal);
    if (over()) {
      return;
    }
    listener.lost();
    post({ type: "lost" });
    pause = Date.now() - began > mostPause ? leastPause : Math.min(mostPause, pause * 2);
    await wake(pause, signal);
  }
}

/** One connection, until it ends. */
function session(listener: Listener, post: (m: Shared) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const address = new URL("/api/ws", window.location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    let heard = Date.now();
    let asked = 0;
    let silent = false;
    const send = () => {
      if (socket.readyState === WebSocket.OPEN) {
        socket.send(JSON.stringify(listener.from()));
      }
    };
    // After a sleep of the machine nobody closes the connection, and a server that stands still closes none: an answer
    // that does not come shows it. The answer to `from` is `live`, and costs nothing.
    const probe = () => {
      const now = Date.now();
      const verdict = judge({ heard, asked }, now);
      if (verdict === "lost") {
        close();
      } else if (verdict === "silent" && !silent) {
        silent = true;
        listener.silent();
        post({ type: "silent" });
      } else if (verdict === "ask" && listener.from().epoch !== "") {
        asked = now;
        send();
      }
    };
    const timer = window.setInterval(probe, beat);
    const end = () => {
      window.clearInterval(timer);
      signal.removeEventListener("abort", close);
      document.removeEventListener("visibilitychange", probe);
      resolve();
    };
    const close = () => {
      socket.close();
      end();
    };
    signal.addEventListener("abort", close, { once: true });
    document.addEventListener("visibilitychange", probe);
    socket.onmessage = ({ data }) => {
      heard = Date.now();
      if (silent) {
        silent = false;
        send(); // its answer says how far the server is
      }
      const message = typeof data === "string" ? parse(data) : undefined;
      if (!message) {
        return;
      }
      listener.message(message);
      post({ type: "message", message });
      if (message.type === "hello" || message.type === "reload" || message.type === "behind") {
        send();
      }
    };
    socket.onclose = end;
    socket.onerror = () => socket.close();
  });
}

/** Waits, and not longer than until the network is back or somebody looks. */
function wake(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      window.clearTimeout(timer);
      window.removeEventListener("online", done);
      document.removeEventListener("visibilitychange", seen);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const seen = () => {
      if (document.visibilityState === "visible") {
        done();
      }
    };
    const timer = window.setTimeout(done, ms);
    window.addEventListener("online", done);
    document.addEventListener("visibilitychange", seen);
    signal.addEventListener("abort", done, { once: true });
  });
}
