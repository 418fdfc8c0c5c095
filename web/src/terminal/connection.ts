import { lose, parse, pasted, pause, take, unknown, type Terminal } from "@/terminal/protocol";

/** What draws a terminal. */
export interface Drawer {
  /** Forgets all: what comes next draws a screen of this size. */
  reset: (cols: number, rows: number) => void;
  write: (bytes: Uint8Array) => void;
}

/** One connection to a terminal, made anew when it is lost, until it is closed. */
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

  /** Ends the connection; the server releases what was held. */
  close(): void {
    this.closed = true;
    window.clearTimeout(this.timer);
    this.socket?.close();
  }

  private open(): void {
    const address = new URL(this.path, window.location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onmessage = ({ data }: MessageEvent<unknown>) => {
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
    socket.onclose = () => {
      if (this.closed || this.state.phase === "ended") {
        return;
      }
      this.put(lose(this.state));
      this.timer = window.setTimeout(() => this.open(), pause(this.failures++));
    };
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
