import type { Terminal as Screen } from "@xterm/xterm";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { useLocation, useNavigate } from "react-router";

import { usePrefs } from "@/app/prefs";
import type { AgentSource } from "@/conversation/source";
import { Connection } from "@/terminal/connection";
import { fit, reveal, unknown, type Terminal } from "@/terminal/protocol";
import { makeScreen, themeOf } from "@/terminal/screen";
import { terminalPath } from "@/terminal/source";
import { outward } from "@/ui/markdown";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Label } from "@/ui/label";

/** The padding of the screen on both sides, and the width of a scrollbar at most, in pixels. */
const padding = 16;
const bar = 17;

interface TerminalPaneProps {
  source: AgentSource;
  name: string; // whose terminal, for screen readers
}

/** A terminal as it is now. Nothing is typed in it before it is taken, and leaving releases it. */
export default function TerminalPane({ source, name }: TerminalPaneProps) {
  const box = useRef<HTMLDivElement>(null);
  const connection = useRef<Connection>(undefined);
  const screen = useRef<ReturnType<typeof makeScreen>>(undefined);
  const [terminal, setTerminal] = useState<Terminal>(unknown);
  const [link, setLink] = useState<string>();
  const [reader, setReader] = useState(false);
  const path = terminalPath(source);
  const mine = terminal.holder === "you";
  const theme = usePrefs((p) => p.theme);
  // A way of this page's own leads here to type at once. An address cannot say that: anybody can write one.
  const { state, pathname, search } = useLocation() as { state: { take?: boolean } | null; pathname: string; search: string };
  const navigate = useNavigate();
  const wanted = state?.take === true && terminal.phase === "open" && terminal.live && !terminal.log;
  useEffect(() => {
    if (wanted) {
      connection.current?.take();
      void navigate({ pathname, search }, { replace: true, state: null });
    }
  }, [wanted, navigate, pathname, search]);

  useEffect(() => {
    const element = box.current;
    if (!element) {
      return;
    }
    const encoder = new TextEncoder();
    const made = makeScreen(element, {
      type: (text) => connection.current?.type(encoder.encode(text)),
      bytes: (bytes) => connection.current?.type(bytes),
      link: setLink,
    });
    screen.current = made;
    // Where the cursor is, the next key goes: it is in sight, until the person scrolls.
    let top = 0;
    let scrolled = false;
    const show = () => {
      if (!scrolled) {
        toCursor(element, made);
        top = element.scrollTop;
      }
    };
    const look = () => (scrolled ||= Math.abs(element.scrollTop - top) >= 1);
    element.addEventListener("scroll", look);
    const keys = made.onData(() => {
      scrolled = false;
      show();
    });
    // What is pasted goes as one text: the server says to the program that it is pasted.
    const paste = (e: ClipboardEvent) => {
      e.preventDefault();
      e.stopPropagation();
      connection.current?.paste(e.clipboardData?.getData("text/plain") ?? "");
    };
    element.addEventListener("paste", paste, { capture: true });
    const fitted = () => {
      // Without the scrollbars, which come and go with the size: it would never come to rest.
      const size = fit({ width: element.offsetWidth - padding, height: element.offsetHeight - padding, bar, cols: made.cols, rows: made.rows, ...cell() });
      if (made.options.fontSize !== size) {
        made.options.fontSize = size;
      }
      show();
    };
    const link = new Connection(
      path,
      {
        reset: (cols, rows) => {
          made.reset();
          made.resize(cols, rows);
          scrolled = false;
          fitted();
        },
        write: (bytes) => made.write(bytes, show),
      },
      setTerminal,
    );
    connection.current = link;
    const watch = new ResizeObserver(fitted);
    watch.observe(element, { box: "border-box" });
    return () => {
      watch.disconnect();
      keys.dispose();
      element.removeEventListener("scroll", look);
      element.removeEventListener("paste", paste, { capture: true });
      link.close();
      connection.current = undefined;
      screen.current = undefined;
      made.dispose();
    };
  }, [path]);

  // Before anything more is typed: it would press the button that was Take over.
  useLayoutEffect(() => {
    if (screen.current) {
      screen.current.options.disableStdin = !mine;
      if (mine) {
        screen.current.focus();
      }
    }
  }, [mine]);
  useEffect(() => {
    if (screen.current) {
      screen.current.options.screenReaderMode = reader;
    }
  }, [reader]);
  useEffect(() => {
    const recolor = () => {
      if (screen.current) {
        screen.current.options.theme = themeOf();
      }
    };
    recolor();
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", recolor);
    return () => dark.removeEventListener("change", recolor);
  }, [theme]);

  const url = link === undefined ? undefined : outward(link);
  return (
    <section aria-label={`Terminal of ${name}`} className="flex h-full min-h-0 flex-col">
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-1.5">
        <Label tone={mine ? "warn" : terminal.phase === "lost" || terminal.phase === "refused" ? "bad" : "muted"}>{word(terminal)}</Label>
        <p role="status" className="min-w-0 grow text-muted wrap-anywhere">
          {terminal.refused ? <span className="text-bad">{terminal.refused.detail}</span> : terminal.why}
          {terminal.refused?.way !== undefined && (
            <>
              {" "}
              Try <code>{terminal.refused.way}</code>
            </>
          )}
        </p>
        <Button aria-pressed={reader} onClick={() => setReader(!reader)}>
          Screen reader
        </Button>
        {terminal.phase === "ended" || terminal.phase === "refused" ? (
          <Button key="again" onClick={() => connection.current?.again()}>
            Connect again
          </Button>
        ) : mine ? (
          <Button key="release" tone="accent" onClick={() => connection.current?.release()}>
            Release
          </Button>
        ) : (
          <Button key="take" disabled={!terminal.live || terminal.phase !== "open" || terminal.log} onClick={() => connection.current?.take()}>
            Take over
          </Button>
        )}
      </div>
      <div ref={box} data-testid="screen" className={`min-h-0 grow overflow-auto bg-surface p-2 ${mine ? "outline-2 -outline-offset-2 outline-warn" : ""}`} />
      <Dialog title="Open this link?" open={url !== undefined} onOpenChange={() => setLink(undefined)}>
        <p className="mb-4">
          A program printed it. It leads to <code className="wrap-anywhere">{url?.href}</code>
        </p>
        <div className="flex justify-end gap-2">
          <Button onClick={() => setLink(undefined)}>Cancel</Button>
          <Button
            tone="accent"
            onClick={() => {
              setLink(undefined);
              window.open(url, "_blank", "noopener,noreferrer");
            }}
          >
            Open in a new tab
          </Button>
        </div>
      </Dialog>
    </section>
  );
}

/** Who has the terminal, and whether what is seen is what is so. */
function word(t: Terminal): string {
  switch (t.phase) {
    case "connecting":
      return "connecting";
    case "lost":
      return "connection lost";
    case "ended":
      return "ended";
    case "refused":
      return "not connected";
    case "open":
      if (t.log) {
        return "log";
      }
      return t.holder === "you" ? "you type" : t.holder === "other" ? "another page types" : "read-only";
  }
}

/** The width and height of a cell by the size of its font, measured once. */
let measured: { cellWidth: number; cellHeight: number } | undefined;
function cell(): { cellWidth: number; cellHeight: number } {
  if (measured === undefined) {
    const context = document.createElement("canvas").getContext("2d");
    if (!context) {
      return { cellWidth: 0.6, cellHeight: 1.2 };
    }
    context.font = `100px ${getComputedStyle(document.documentElement).getPropertyValue("--font-mono")}`;
    const m = context.measureText("W");
    measured = { cellWidth: m.width / 100, cellHeight: (m.fontBoundingBoxAscent + m.fontBoundingBoxDescent) / 100 };
  }
  return measured;
}

/** Rows and columns behind the cursor that come into sight with it: a menu's other options, what is being typed. */
const rowsAfter = 8;
const colsAfter = 4;

/** Scrolls the box so that the screen's cursor is in sight. */
function toCursor(box: HTMLElement, screen: Screen): void {
  const drawn = box.querySelector(".xterm-screen");
  const { cursorX, cursorY, baseY, viewportY } = screen.buffer.active;
  if (!drawn || baseY !== viewportY || drawn.clientHeight === 0) {
    return;
  }
  const row = drawn.clientHeight / screen.rows;
  const col = drawn.clientWidth / screen.cols;
  box.scrollTop = reveal(box.scrollTop, box.clientHeight, cursorY * row, row, rowsAfter * row, box.scrollHeight);
  box.scrollLeft = reveal(box.scrollLeft, box.clientWidth, cursorX * col, col, colsAfter * col, box.scrollWidth);
}
