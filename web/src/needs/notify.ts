import { useEffect, useRef, useSyncExternalStore } from "react";
import { useNavigate } from "react-router";

import { fresh } from "@/needs/answers";
import { useNeeds } from "@/needs/needs";

export type Permission = NotificationPermission | "unsupported";

const lookers = new Set<() => void>();

/** What the browser says now, which takes it milliseconds. */
function current(): Permission {
  return "Notification" in window ? Notification.permission : "unsupported";
}

// What it said last; asked again when it may have changed.
let known: Permission | undefined;

const snapshot = (): Permission => (known ??= current());

function changed(): void {
  known = undefined;
  lookers.forEach((l) => l());
}

function subscribe(look: () => void): () => void {
  if (lookers.size === 0) {
    known = undefined;
    document.addEventListener("visibilitychange", changed); // a person comes back from the browser's settings
    window.addEventListener("focus", changed);
  }
  lookers.add(look);
  return () => {
    lookers.delete(look);
    if (lookers.size === 0) {
      document.removeEventListener("visibilitychange", changed);
      window.removeEventListener("focus", changed);
    }
  };
}

/** Whether the browser lets cmux notify, and how to ask for it: only when a person says so. */
export function usePermission(): [Permission, () => void] {
  const permission = useSyncExternalStore(subscribe, snapshot);
  const ask = () => {
    if (current() === "default") {
      void Notification.requestPermission().then(changed);
    } else {
      changed();
    }
  };
  return [permission, ask];
}

/** Has the browser notify of each new need while nobody looks at the page. */
export function useNotifications(): void {
  const needs = useNeeds().data?.items;
  const navigate = useNavigate();
  const before = useRef<ReadonlySet<string>>(undefined);
  useEffect(() => {
    if (needs === undefined) {
      return;
    }
    const told = document.visibilityState === "hidden" ? fresh(before.current, needs) : [];
    before.current = new Set(needs.map((n) => n.id));
    if (told.length === 0 || current() !== "granted") {
      return;
    }
    for (const n of told) {
      // A tag makes one of what several tabs tell.
      const note = new Notification(`${n.called}: ${n.name}`, { body: `${n.label}\n${n.text}`.slice(0, 300), tag: n.id });
      note.onclick = () => {
        window.focus();
        void navigate("/");
        note.close();
      };
    }
  }, [needs, navigate]);
}
