/*
 * A screen of xterm.js that is safe with what agents print: it answers no queries, it
 * opens nothing, and it asks the page's policy for nothing that is not allowed.
 */
import "@xterm/xterm/css/xterm.css";
import { Terminal, type ITheme } from "@xterm/xterm";

import { nonce } from "@/app/nonce";
import { lineHeight } from "@/terminal/protocol";

export interface ScreenEvents {
  type: (text: string) => void;
  bytes: (bytes: Uint8Array<ArrayBuffer>) => void;
  link: (address: string) => void;
}

const scrollback = 5000;

/** Makes a screen in an element. */
export function makeScreen(box: HTMLElement, events: ScreenEvents): Terminal {
  const screen = new Terminal({
    disableStdin: true,
    scrollback,
    fontFamily: cssValue("--font-mono"),
    fontSize: 14,
    lineHeight,
    cursorBlink: false,
    minimumContrastRatio: 4.5,
    theme: themeOf(),
    logLevel: "off",
    linkHandler: { activate: (_, address) => events.link(address), allowNonHttpProtocols: false },
  });
  silence(screen);
  screen.onData(events.type);
  screen.onBinary((s) => events.bytes(Uint8Array.from(s, (c) => c.charCodeAt(0) & 255)));
  withNonce(() => screen.open(box));
  return screen;
}

/**
 * xterm.js writes a color that has no class (one of 16 million, or one with more contrast)
 * into the style attribute of a span, which the page's policy refuses. Its style can be set.
 */
HTMLSpanElement.prototype.setAttribute = function (name: string, value: string) {
  if (name === "style") {
    this.style.cssText = value;
  } else {
    Element.prototype.setAttribute.call(this, name, value);
  }
};

/** tmux has answered what programs ask their terminal. An answer of this one's would be typed. */
function silence(screen: Terminal): void {
  const p = screen.parser;
  const never = () => true;
  for (const id of [
    { final: "c" },
    { prefix: ">", final: "c" },
    { prefix: "=", final: "c" },
    { final: "n" },
    { prefix: "?", final: "n" },
    { prefix: ">", final: "q" },
    { intermediates: "$", final: "p" },
    { prefix: "?", intermediates: "$", final: "p" },
    { final: "t" },
    { final: "x" },
    { prefix: "?", final: "u" },
  ]) {
    p.registerCsiHandler(id, never);
  }
  for (const id of [
    { intermediates: "$", final: "q" },
    { intermediates: "+", final: "q" },
  ]) {
    p.registerDcsHandler(id, never);
  }
  // Colors that are asked for, or set for all, titles, clipboard, notifications.
  for (const id of [0, 1, 2, 4, 5, 7, 9, 10, 11, 12, 52, 99, 104, 110, 111, 112, 777, 1337]) {
    p.registerOscHandler(id, never);
  }
  p.registerEscHandler({ final: "Z" }, never);
}

/**
 * Style elements that are made meanwhile have the nonce that the page's policy wants.
 * The option documentOverride reaches some of those of xterm.js only: its viewport asks
 * the real document for its own.
 */
function withNonce(make: () => void): void {
  const own = document as { createElement?: (tag: string) => Element };
  own.createElement = (tag: string) => {
    const element = document.createElementNS("http://www.w3.org/1999/xhtml", tag);
    if (element instanceof HTMLStyleElement) {
      element.nonce = nonce;
    }
    return element;
  };
  try {
    make();
  } finally {
    delete own.createElement; // the prototype's is seen again
  }
}

function cssValue(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The screen's colors, as the page has them now. */
export function themeOf(): ITheme {
  // light-dark() is worked out by the browser. Each color has an element of its own: one
  // that changes its color may do so little by little.
  const color = (token: string) => {
    const probe = document.createElement("span");
    probe.style.color = `var(--color-${token})`;
    document.body.append(probe);
    const computed = hex(getComputedStyle(probe).color);
    probe.remove();
    return computed;
  };
  return {
    background: color("surface"),
    foreground: color("text"),
    cursor: color("accent"),
    cursorAccent: color("surface"),
    selectionBackground: color("accent-soft"),
  };
}

/** A color as xterm.js reads it: what the browser computes is rgb(…) of numbers. */
function hex(computed: string): string {
  const parts = computed.match(/[\d.]+/g) ?? [];
  return `#${parts
    .slice(0, 3)
    .map((p) => Math.round(Number(p)).toString(16).padStart(2, "0"))
    .join("")}`;
}
