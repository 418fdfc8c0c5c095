import { useState } from "react";

const key = (agent: string) => `cmux-message:${agent}`;

/** The message to an agent that is being typed. It outlives the page, not the tab. */
export function useDraft(agent: string): readonly [string, (text: string) => void] {
  const [text, setText] = useState(() => sessionStorage.getItem(key(agent)) ?? "");
  const write = (next: string) => {
    setText(next);
    if (next === "") {
      sessionStorage.removeItem(key(agent));
    } else {
      sessionStorage.setItem(key(agent), next);
    }
  };
  return [text, write];
}

/** Whether a press of Enter sends, rather than breaks the line; undefined: the key is another one. */
export function sends(e: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey" | "isComposing">, enterSends: boolean): boolean | undefined {
  if (e.key !== "Enter" || e.isComposing) {
    return undefined; // a composed word ends with Enter too
  }
  return e.ctrlKey || e.metaKey || (enterSends && !e.shiftKey && !e.altKey);
}
