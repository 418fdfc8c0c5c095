import { problemOf, type Problem } from "@/api/client";
import { forGood, lose, parse, pasted, pause, refuse, stays, take, unknown, type Terminal } from "@/terminal/protocol";

/** What draws a terminal. */
export interface Drawer {
  /** Forgets all: what comes next draws a screen of this size. */
  reset: (cols: number, rows: number) => void;
  write: (bytes: Uint8Array) => void;
}

/** One connection to a terminal. It reconnects when it is lost, until it is closed. */
export class Connection {
  private state = unknown;
  private socket: WebSocket | undefined;
  private timer: number | undefined;
  private failures = 0;
  private closed = false;

  constructor(
    private readonly path: string,
    private readonly drawer: Drawer,
    private readonly tell: (t: Terminal) => void,
  ) {
    this.open();
  }

  /** Asks to be the one who types. */
  take(): void {
    this.put({ ...this.state, refused: undefined });
    this.say({ type: "take" });
  }

  release(): void {
    this.say({ type: "release" });
  }

  /** Types: only who holds the terminal does. */
  type(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.state.holder === "you" && this.socket?.readyState === WebSocket.OPEN) {
      this.socket.send(bytes);
    }
  }

  paste(text: string): void {
    if (this.state.holder !== "you") {
      return;
    }
    const message = pasted(text);
    if (message === undefined) {
      this.put({ ...this.state, refused: { detail: "This is too much to paste at once: nothing of it was typed. Give it in a file.", way: undefined } });
    } else if (this.socket?.readyState === WebSocket.OPEN) {
      this.socket.send(message);
    }
  }

  /** Reconnects, if no automatic reconnection will follow. */
  again(): void {
    this.leave();
    this.failures = 0;
    this.put(unknown);
    this.open();
  }

  /** Ends the connection; the server releases what was held. */
  close(): void {
    this.closed = true;
    this.leave();
  }

  private leave(): void {
    window.clearTimeout(this.timer);
    const { socket } = this;
    this.socket = undefined;
    socket?.close();
  }

  private open(): void {
    const address = new URL(this.path, window.location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    let opened = false;
    socket.onopen = () => (opened = true);
    socket.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (this.socket !== socket) {
        return;
      }
      if (data instanceof ArrayBuffer) {
        this.drawer.write(new Uint8Array(data));
        return;
      }
      const said = typeof data === "string" ? parse(data) : undefined;
      if (!said) {
        return;
      }
      this.failures = 0;
      if (said.type === "screen") {
        this.drawer.reset(said.cols, said.rows);
      }
      this.put(take(this.state, said));
    };
    socket.onclose = ({ code, reason }) => {
      if (this.socket !== socket || this.state.phase === "ended") {
        return;
      }
      const why = forGood(code, reason);
      if (why !== undefined) {
        this.put(refuse(this.state, why));
        return;
      }
      this.put(lose(this.state));
      void this.retry(socket, opened);
    };
  }

  /** Connects again soon, unless the server says that it would be in vain. */
  private async retry(lost: WebSocket, opened: boolean): Promise<void> {
    const problem = opened ? undefined : await this.refusal();
    if (this.socket !== lost) {
      return;
    }
    if (problem && stays(problem.status)) {
      this.put(refuse(this.state, problem.message, problem.way));
      return;
    }
    if (problem) {
      this.put({ ...this.state, refused: { detail: problem.message, way: problem.way } });
    }
    this.timer = window.setTimeout(() => this.open(), pause(this.failures++));
  }

  /** What the server answers instead of a connection: a page is not told why a websocket fails. */
  private async refusal(): Promise<Problem | undefined> {
    const wantsWebsocket = 426;
    try {
      const answer = await fetch(this.path, { signal: AbortSignal.timeout(10_000) });
      if (answer.status === wantsWebsocket) {
        return undefined;
      }
      const body: unknown = await answer.json().catch(() => undefined);
      return problemOf(answer.status, body);
    } catch {
      return undefined; // the server is away
    }
  }

  private say(message: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify(message));
    }
  }

  private put(t: Terminal): void {
    this.state = t;
    if (!this.closed) {
      this.tell(t);
    }
  }
}
