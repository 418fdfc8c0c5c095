import { useCallback, useState } from "react";
import { Link, useParams, useSearchParams } from "react-router";

import { prefs, usePrefs } from "@/app/prefs";
import { Cards } from "@/cards/Cards";
import { CardDialogs } from "@/cards/CardDialogs";
import { useCards, useProposals } from "@/cards/cards";
import { useCardState } from "@/cards/state";
import { Panes } from "@/layout/Panes";
import { useWide } from "@/layout/wide";
import { DismissDialog } from "@/rooms/DismissDialog";
import { InviteDialog } from "@/rooms/InviteDialog";
import { PlanPane } from "@/rooms/PlanPane";
import { PromptDialog } from "@/rooms/PromptDialog";
import { RoomOrders } from "@/rooms/RoomOrders";
import { policies, toneOfRoom, useRoom, wayTo, type Room } from "@/rooms/rooms";
import { Streams } from "@/rooms/Streams";
import { Talk } from "@/rooms/Talk";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Page } from "@/ui/page";
import { Answer } from "@/ui/states";

/** A room: its members, what they say, and what waits for the person. */
export default function RoomPage() {
  const { room = "" } = useParams();
  const view = useRoom(room);
  const v = view.data;
  return (
    <Page
      title={room}
      about={
        <>
          {v && <About room={v.room} />}
          <Link to="/rooms" className="text-accent underline">
            All rooms
          </Link>
        </>
      }
      actions={
        v && (
          <>
            <Shown room={room} />
            <RoomOrders view={v} />
          </>
        )
      }
      ready={!view.isPending}
    >
      <Answer query={view}>{(found) => <Parts key={room} view={found} />}</Answer>
    </Page>
  );
}

function About({ room: r }: { room: Room["room"] }) {
  const { about } = r.settings;
  return (
    <>
      <Label tone={toneOfRoom(r)}>{r.label}</Label>
      <span title={policies.find(([p]) => p === r.policy)?.[2]}>{r.policy}</span>
      {r.round > 0 && <span>{`round ${r.round}, ${count(r.turns, "turn")}`}</span>}
      <span>{`${tokens(r.total)} tokens`}</span>
      {about !== undefined && (
        <Link to={wayTo(about)} className="text-accent underline">
          {`About ${about}`}
        </Link>
      )}
      {r.bad > 0 && <Label tone="bad">{count(r.bad, "unverified line")}</Label>}
    </>
  );
}

/** Which parts of the room are hidden where they stand beside each other. Cards are seen when there are some, unless the person says otherwise. */
function useHidden(room: string): { streams: boolean; cards: boolean; count: number } {
  const hidden = usePrefs((p) => p.hidden);
  const cards = useCards(room).data?.items.length ?? 0;
  const proposals = useProposals(room).data?.items.length ?? 0;
  return { streams: hidden["room streams"] === true, cards: hidden["room cards"] ?? cards + proposals === 0, count: cards };
}

/** Hides and shows the parts beside the talk. */
function Shown({ room }: { room: string }) {
  const wide = useWide();
  const hides = useHidden(room);
  if (!wide) {
    return null; // one part is seen at a time
  }
  return (
    <span role="group" aria-label="Parts beside the talk" className="flex gap-1">
      {([["streams", "Members", hides.streams], ["cards", hides.count > 0 ? `Cards (${hides.count})` : "Cards", hides.cards]] as const).map(([id, label, hidden]) => (
        <button
          key={id}
          type="button"
          aria-pressed={!hidden}
          title={hidden ? `Show ${id === "cards" ? "the cards" : "the members"}` : `Hide ${id === "cards" ? "the cards" : "the members"}`}
          className="min-h-8 rounded-md px-2.5 aria-pressed:bg-accent-soft aria-pressed:text-accent"
          onClick={() => prefs.getState().setHidden(`room ${id}`, !hidden)}
        >
          {label}
        </button>
      ))}
    </span>
  );
}

function Parts({ view }: { view: Room }) {
  // What is open stays so while the panes move, as on a telephone that is turned.
  const [prompt, setPrompt] = useState<{ turn: string; member: string }>();
  const [inviting, invite] = useState(false);
  const [leaving, dismiss] = useState<string>();
  const show = useCallback((turn: string, member: string) => setPrompt({ turn, member }), []);
  const plan = useSearchParams()[0].has("plan");
  const state = useCardState();
  const wide = useWide();
  const hides = useHidden(view.room.name);
  const least = !plan && hides.cards;
  const all = [
    { id: "streams", label: "Members", size: plan ? 18 : least ? 28 : 26, least: plan ? 12 : 16, content: <Streams view={view} prompt={show} invite={() => invite(true)} dismiss={dismiss} /> },
    { id: "talk", label: "Talk", size: plan ? 32 : least ? 72 : 44, least: plan ? 20 : 30, content: <Talk view={view} prompt={show} /> },
    { id: "cards", label: "Cards", size: 30, least: 18, content: <Cards room={view.room.name} state={state} /> },
    { id: "plan", label: "Plan", size: 50, least: 30, content: <PlanPane room={view.room.name} /> },
  ].filter((p) => p.id !== "plan" || plan);
  const panes = wide ? all.filter((p) => (p.id !== "streams" || !hides.streams) && (p.id !== "cards" || (!hides.cards && !plan))) : all; // a plan needs the room of the cards
  const who = view.members.find((m) => m.name === leaving);
  return (
    <>
      <Panes id={`room ${panes.map((p) => p.id).join(" ")}`} main={plan ? "plan" : "talk"} panes={panes} />
      <CardDialogs state={state} />
      {prompt && <PromptDialog room={view.room.name} {...prompt} onClose={() => setPrompt(undefined)} />}
      {inviting && <InviteDialog view={view} onClose={() => invite(false)} />}
      {who && <DismissDialog member={who} room={view.room} onClose={() => dismiss(undefined)} />}
    </>
  );
}
