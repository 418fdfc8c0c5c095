/*
 * Cards: where each stands, and what a person may do with it. The server says which moves a card
 * allows; nothing here decides on its own.
 */
import { api, hooks, type Api } from "@/api/client";
import type { Tone } from "@/ui/label";

export type Card = Api<"CardView">;
export type Move = Api<"CardMove">;
export type Column = Api<"TaskColumn">;
export type Proposal = Api<"Proposal">;

export const columns: readonly (readonly [Column, string])[] = [
  ["backlog", "Backlog"],
  ["planning", "Planning"],
  ["reviewing", "Reviewing"],
  ["implementing", "Implementing"],
  ["done", "Done"],
];

/** The roles of a card, in the order in which they act. */
export const roles = ["coordinator", "planner", "implementer", "reviewer"] as const;
export type Role = (typeof roles)[number];

/** The cards of a room; empty: of all rooms. */
export function useCards(room: string) {
  return hooks.useQuery("get", "/api/cards", { params: { query: { limit: 1000, ...(room === "" ? {} : { room }) } } });
}

export function useProposals(room: string) {
  return hooks.useQuery("get", "/api/cards/proposals", { params: { query: { limit: 1000, ...(room === "" ? {} : { room }) } } });
}

const at = (id: string) => ({ params: { path: { id } } });

interface Seen {
  id: string;
  version: number; // that the person has seen: the server does nothing to a card that has changed since
}

export const give = {
  add: (body: Api<"NewCard">) => api.POST("/api/cards", { body }),
  edit: ({ id, ...body }: Seen & Omit<Api<"PatchCardsIdRequest">, "version">) => api.PATCH("/api/cards/{id}", { ...at(id), body }),
  start: ({ id, version }: Seen) => api.POST("/api/cards/{id}/start", { ...at(id), body: { version } }),
  delegate: ({ id, version, pick }: Seen & { pick?: string }) => api.POST("/api/cards/{id}/delegate", { ...at(id), body: { version, ...(pick === undefined ? {} : { pick }) } }),
  move: ({ id, ...body }: Seen & { to: Column; text?: string; sure?: boolean }) => api.POST("/api/cards/{id}/move", { ...at(id), body }),
  cancel: ({ id, version, reason }: Seen & { reason: string }) => api.POST("/api/cards/{id}/cancel", { ...at(id), body: { version, ...(reason === "" ? {} : { reason }) } }),
};

/** Where the focus goes on the board: the id of a card's button. */
export const buttonOf = (id: string) => `card-${id}`;

/** The cards by column; cancelled ones are on no board. */
export function byColumn(cards: readonly Card[]): ReadonlyMap<Column, readonly Card[]> {
  return new Map(columns.map(([c]) => [c, cards.filter((card) => card.column === c)]));
}

/** The move that takes a card to a column; undefined: there is none. */
export function moveTo(card: Card, to: Column): Move | undefined {
  return card.moves.find((m) => m.to === to);
}

/**
 * What an arrow key asks for: the nearest move to that side, or the column beside, which the
 * server refuses with the reason. A card is called done by hand only from the column beside.
 */
export function toward(card: Card, side: -1 | 1): { move: Move } | { to: Column } | undefined {
  const from = columns.findIndex(([c]) => c === card.column);
  const there = (side === 1 ? columns.slice(from + 1) : columns.slice(0, Math.max(0, from)).reverse()).map(([c]) => c);
  const [beside] = there;
  if (from < 0 || beside === undefined) {
    return undefined;
  }
  for (const to of there) {
    const move = moveTo(card, to);
    if (move !== undefined && (move.do !== "done" || to === beside)) {
      return { move };
    }
  }
  return { to: beside };
}

/** What a person can do about a card that it waits for, or that nobody has begun. */
export type Action = { type: "move"; label: string; move: Move } | { type: "start"; label: string } | { type: "delegate"; label: string } | { type: "edit"; label: string } | { type: "open"; label: string };

export function actionsOf(c: Card): readonly Action[] {
  const move = (how: Move["do"], label: string): Action[] => c.moves.filter((m) => m.do === how).map((m) => ({ type: "move", label, move: m }));
  if (c.column === "backlog") {
    if (c.card?.phase === "delegating") {
      return c.needs === "" ? [] : [{ type: "open", label: "Choose an answer…" }, { type: "edit", label: "Choose roles…" }];
    }
    const starts = move("start", "Start…");
    return starts.length > 0 ? starts : [{ type: "edit", label: "Choose roles…" }, { type: "delegate", label: "Ask the room" }];
  }
  if (c.needs === "") {
    return [];
  }
  const again: Action[] = (c.card?.waits ?? "") === "" ? [] : [{ type: "start", label: c.card?.phase === "implementing" ? "Try again" : "Ask again" }];
  return [...again, ...move("approve", "Approve…"), ...move("send-back", "Send back…")];
}

export function toneOf(c: Card): Tone {
  if (c.needs !== "") {
    return "warn";
  }
  switch (c.state) {
    case "failed":
    case "blocked":
      return "bad";
    case "done":
      return c.column === "done" && !c.override ? "ok" : "muted";
    default:
      return c.column === "backlog" || c.column === "" ? "muted" : "info";
  }
}

/** How the checks of a card stand, in a few words; empty: it has none. */
export function checksOf(c: Card): { text: string; bad: boolean } {
  const checks = c.work === c.id ? (c.result?.checks ?? []) : [];
  const bad = checks.filter((k) => k.exit !== 0 || k.timed_out === true).length;
  const some = (n: number) => `${n} ${n === 1 ? "check" : "checks"}`;
  if (checks.length > 0) {
    return bad > 0 ? { text: `${bad} of ${some(checks.length)} failed`, bad: true } : { text: `${some(checks.length)} passed`, bad: false };
  }
  return { text: c.verify.length === 0 ? "" : some(c.verify.length), bad: false };
}

/** What a move does, before it is made. */
export function saysOf(c: Card, m: Move): { title: string; text: string; action: string; label: string } {
  const { planner = "", coordinator = "", implementer = "" } = c.card ?? {};
  const plan = c.card?.phase === "plan review" || c.column === "planning";
  switch (m.do) {
    case "start": {
      const first = coordinator !== "" ? `${coordinator} says what matters` : planner !== "" ? `${planner} plans` : "";
      return {
        title: `Start ${c.id}?`,
        text: first === "" ? `A worker like ${implementer} begins in a worktree of its own.` : `First ${first}, in a turn of its own. A worker like ${implementer} implements it then.`,
        action: "Start card",
        label: "Start",
      };
    }
    case "approve":
      return c.column === "planning"
        ? { title: `Approve ${c.id} as it is?`, text: `${planner === "" ? "Nobody" : planner} has not finished the plan. A worker like ${implementer} begins without it.`, action: "Approve", label: "Approve without a plan" }
        : plan
          ? { title: `Approve the plan of ${c.id}?`, text: `A worker like ${implementer} begins with it, in a worktree of its own.`, action: "Approve plan", label: "Approve the plan" }
          : { title: `Approve the work on ${c.id}?`, text: "It can be merged then. Nothing is merged by this.", action: "Approve work", label: "Approve the work" };
    case "send-back":
      return plan
        ? { title: `Send the plan of ${c.id} back`, text: `${planner === "" ? "The planner" : planner} plans again and reads what you write.`, action: "Send back", label: "Send the plan back" }
        : { title: `Send the work on ${c.id} back`, text: "What you write becomes a task that begins with the work.", action: "Send back", label: "Send the work back" };
    case "backlog":
      return { title: `Put ${c.id} back?`, text: "It waits in the backlog until somebody starts it. Who does what stays, and so does its plan.", action: "Put back", label: "Put back into the backlog" };
    case "done":
      return { title: `Call ${c.id} done?`, text: "It counts as done whatever its checks and its reviewer say, and is shown as done (override).", action: "Call it done", label: "Call it done (override)" };
  }
}

/** What a card asks for, without what cmux adds for whoever works on it. */
export function ownText(body: string): string {
  return body.split("\n\n## From the room\n", 1)[0] ?? "";
}

/** A card in one line, for who does not see the board. */
export function named(c: Card): string {
  const who = roles.flatMap((r) => (c.card?.[r] ? [`${r} ${c.card[r]}`] : []));
  return [`${c.id} ${c.title}`, columns.find(([id]) => id === c.column)?.[1] ?? "cancelled", c.label, checksOf(c).text, ...who].filter((x) => x !== "").join(", ");
}
