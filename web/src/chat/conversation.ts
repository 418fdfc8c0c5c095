import { hooks } from "@/api/client";
import { timeline, type Entry, type Mail, type Said } from "@/chat/timeline";
import { useMemo } from "react";

const newestFirst = { pageParamName: "cursor", initialPageParam: "", getNextPageParam: (page: { next?: string }) => page.next };

function useMail(query: { to: string } | { from: string }) {
  return hooks.useInfiniteQuery("get", "/api/messages", { params: { query: { ...query, limit: 100 } } }, newestFirst);
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
  older: (() => void) | undefined;
  busy: boolean;
  error: unknown; // undefined: there is none
  pending: boolean;
  again: () => void;
}

/** Everything that an agent said and did, and was told, in one line. */
export function useChat(name: string): Chat {
  const path = { name };
  const conversation = hooks.useInfiniteQuery("get", "/api/agents/{name}/conversation", { params: { path, query: { limit: 200 } } }, newestFirst);
  const to = useMail({ to: name });
  const from = useMail({ from: name });
  const said: readonly Said[] | undefined = useMemo(() => conversation.data?.pages.flatMap((p) => p.items), [conversation.data]);
  const mails: readonly Mail[] = useMemo(() => {
    const all = [...(to.data?.pages ?? []), ...(from.data?.pages ?? [])].flatMap((p) => p.items);
    return [...new Map(all.map((m) => [m.id, m])).values()];
  }, [to.data, from.data]);
  const entries = useMemo(() => {
    const first = horizon([
      { oldest: said?.at(-1)?.at, more: conversation.hasNextPage },
      { oldest: to.data?.pages.at(-1)?.items.at(-1)?.ts, more: to.hasNextPage },
      { oldest: from.data?.pages.at(-1)?.items.at(-1)?.ts, more: from.hasNextPage },
    ]);
    const after = (at: string) => Date.parse(at) >= first;
    return timeline((said ?? []).filter((s) => after(s.at)), mails.filter((m) => after(m.ts)));
  }, [said, mails, conversation.hasNextPage, to.data, to.hasNextPage, from.data, from.hasNextPage]);
  const sources = [conversation, to, from];
  const more = sources.filter((s) => s.hasNextPage);
  const failed = sources.find((s) => s.isLoadingError);
  return {
    entries,
    older: more.length === 0 ? undefined : () => more.forEach((s) => void s.fetchNextPage()),
    busy: sources.some((s) => s.isFetchingNextPage),
    error: failed?.error,
    pending: sources.some((s) => s.isPending),
    again: () => sources.forEach((s) => void s.refetch()),
  };
}
