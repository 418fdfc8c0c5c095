import { useMemo } from "react";

import { api, hooks } from "@/api/client";
import { timeline, type Entry, type Mail } from "@/chat/timeline";
import { useConversation } from "@/conversation/source";
import { useNewest, type Newest } from "@/live/newest";

const pageSize = 100;
const idOf = (m: Mail) => m.id;

/** The messages to an address, or from it, the newest first. */
export function useMail(whose: { to: string } | { from: string }): Newest<Mail> & { error: unknown; again: () => void } {
  const query = { ...whose, limit: pageSize };
  const head = hooks.useQuery("get", "/api/messages", { params: { query } });
  const list = useNewest<Mail>(head, async (cursor) => (await api.GET("/api/messages", { params: { query: { ...query, cursor } } })).data, idOf);
  return { ...list, error: head.error ?? undefined, again: () => void head.refetch() };
}

/**
 * The oldest point from which on everything is known: a source that has more has nothing
 * to say about what is before its oldest.
 */
export function horizon(sources: readonly { oldest: string | undefined; more: boolean }[]): number {
  return Math.max(Number.NEGATIVE_INFINITY, ...sources.filter((s) => s.more && s.oldest !== undefined).map((s) => Date.parse(s.oldest ?? "")));
}

export interface Chat {
  entries: readonly Entry[];
  older: (() => void) | undefined; // undefined: there is nothing older
  busy: boolean;
  error: unknown; // undefined: there is none
  pending: boolean;
  again: () => void;
}

/** Everything that an agent said and did, and was told, in one line. Only what is new is asked for as it comes. */
export function useChat(name: string): Chat {
  const conversation = useConversation({ kind: "agent", name });
  const to = useMail({ to: name });
  const from = useMail({ from: name });
  const said = conversation.items;
  const mails: readonly Mail[] = useMemo(() => [...new Map([...(to.items ?? []), ...(from.items ?? [])].map((m) => [m.id, m])).values()], [to.items, from.items]);
  const talks = conversation.more !== undefined;
  const entries = useMemo(() => {
    const first = horizon([
      { oldest: said?.[0]?.at, more: talks },
      { oldest: to.items?.at(-1)?.ts, more: to.hasMore },
      { oldest: from.items?.at(-1)?.ts, more: from.hasMore },
    ]);
    const after = (at: string) => Date.parse(at) >= first;
    return timeline((said ?? []).filter((s) => after(s.at)), mails.filter((m) => after(m.ts)));
  }, [said, mails, talks, to.items, to.hasMore, from.items, from.hasMore]);
  const older = talks || to.hasMore || from.hasMore;
  const pending = said === undefined || to.items === undefined || from.items === undefined;
  return {
    entries,
    older: older
      ? () => {
          conversation.more?.();
          to.more?.();
          from.more?.();
        }
      : undefined,
    busy: conversation.asking || to.busy || from.busy,
    error: pending ? (conversation.error ?? to.error ?? from.error) : undefined,
    pending,
    again: () => {
      conversation.again();
      to.again();
      from.again();
    },
  };
}
