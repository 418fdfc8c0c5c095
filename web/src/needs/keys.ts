import type { Api } from "@/api/client";
import { commonActions, answerByKey, sendAnswer } from "@/needs/actions";
import { decided } from "@/needs/answers";

type Need = Api<"Need">;

/** What the keys of the inbox can do. */
export interface Hands {
  needs: readonly Need[]; // that a key decides about; none: it is not clear which
  move: (by: number) => void;
  choose: () => void;
  clear: () => void;
  undo: () => void;
  decide: (needs: readonly Need[], text: string, send: (all: readonly Need[]) => Promise<unknown>) => void;
  terminal: (n: Need) => void;
}

/** Whether a key is typed into something, or belongs to what is open. */
function typed(e: KeyboardEvent): boolean {
  const at = e.target instanceof Element ? e.target : null;
  return e.ctrlKey || e.metaKey || e.altKey || document.querySelector("[role=dialog]") !== null || at?.closest("input:not([type=checkbox]), textarea, select, [contenteditable=true], [role=menu]") != null;
}

/** Does what a key says. */
export function handleKey(e: KeyboardEvent, hands: Hands): void {
  if (e.defaultPrevented || typed(e)) {
    return;
  }
  const [only, ...more] = hands.needs;
  const done = act(e, hands, only, more);
  if (done) {
    e.preventDefault();
  }
}

function act(e: KeyboardEvent, hands: Hands, only: Need | undefined, more: readonly Need[]): boolean {
  switch (e.key) {
    case "j":
      hands.move(1);
      return true;
    case "k":
      hands.move(-1);
      return true;
    case "x":
      hands.choose();
      return true;
    case "u":
      hands.undo();
      return true;
    case "Escape":
      hands.clear();
      return true;
  }
  if (only === undefined || e.repeat) {
    return false;
  }
  if (more.length === 0) {
    switch (e.key) {
      case "c":
      case "r":
        if (only.kind === "review" || (only.kind === "merge" && e.key === "r")) {
          document.querySelector<HTMLElement>("[data-case] [data-send-back]")?.click();
          return true;
        }
        if (e.key === "r" && only.kind !== "message") {
          break;
        }
        document.querySelector<HTMLElement>("[data-case] :is(textarea, input:not([type=checkbox]))")?.focus();
        return true;
      case "e":
        hands.terminal(only);
        return true;
    }
    const text = answerByKey(only, e.key);
    if (text !== undefined) {
      hands.decide([only], `${only.name}: answered “${text}”`, () => sendAnswer(only, { text, question: only.question?.id ?? "" }));
      return true;
    }
  }
  const action = commonActions(hands.needs).find((a) => a.key === e.key);
  if (action === undefined) {
    return false;
  }
  const button = only.kind === "review" && more.length === 0 ? document.querySelector<HTMLElement>(`[data-case] [data-decision="${action.id}"]`) : null;
  if (button !== null) {
    button.click(); // it asks first about comments that were not sent
    return true;
  }
  hands.decide(hands.needs, decided(hands.needs, action.done), action.send);
  return true;
}
