import { useEffect, useRef, useSyncExternalStore } from "react";
import { useNavigate } from "react-router";

import { fresh, kindName } from "@/needs/answers";
import { useNeeds } from "@/needs/needs";

export type Permission = NotificationPermission | "unsupported";

const lookers = new Set<() => void>();

function current(): Permission {
  return "Notification" in window ? Notification.permission : "unsupported";
}

function subscribe(look: () => void): () => void {
  lookers.add(look);
  return () => void lookers.delete(look);
}

/** Whether the browser lets cmux notify, and how to ask for it: only when a person says so. */
export function usePermission(): [Permission, () => void] {
  const permission = useSyncExternalStore(subscribe, current);
  const ask = () => {
    if (current() === "default") {
      void Notification.requestPermission().then(() => lookers.forEach((l) => l()));
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
    const told = current() === "granted" && document.visibilityState === "hidden" ? fresh(before.current, needs) : [];
    before.current = new Set(needs.map((n) => n.id));
    for (const n of told) {
      // A tag makes one of what several tabs tell.
      const note = new Notification(`${kindName(n)}: ${n.name}`, { body: `${n.label}\n${n.text}`.slice(0, 300), tag: n.id });
      note.onclick = () => {
        window.focus();
        void navigate("/");
        note.close();
      };
    }
  }, [needs, navigate]);
}
