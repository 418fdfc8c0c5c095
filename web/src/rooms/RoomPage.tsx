import { useCallback, useState } from "react";
import { Link, useParams, useSearchParams } from "react-router";

import { Panes } from "@/layout/Panes";
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
      actions={v && <RoomOrders view={v} />}
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

function Parts({ view }: { view: Room }) {
  // What is open stays so while the panes move, as on a telephone that is turned.
  const [prompt, setPrompt] = useState<{ turn: string; member: string }>();
  const [inviting, invite] = useState(false);
  const [leaving, dismiss] = useState<string>();
  const show = useCallback((turn: string, member: string) => setPrompt({ turn, member }), []);
  const plan = useSearchParams()[0].has("plan");
  const who = view.members.find((m) => m.name === leaving);
  return (
    <>
      <Panes
        id={plan ? "room-plan" : "room"}
        main="talk"
        panes={[
          { id: "streams", label: "Members", size: plan ? 18 : 28, least: plan ? 12 : 16, content: <Streams view={view} prompt={show} invite={() => invite(true)} dismiss={dismiss} /> },
          { id: "talk", label: "Talk", size: plan ? 32 : 72, least: plan ? 20 : 40, content: <Talk view={view} prompt={show} /> },
          ...(plan ? [{ id: "plan", label: "Plan", size: 50, least: 30, content: <PlanPane room={view.room.name} /> }] : []),
        ]}
      />
      {prompt && <PromptDialog room={view.room.name} {...prompt} onClose={() => setPrompt(undefined)} />}
      {inviting && <InviteDialog view={view} onClose={() => invite(false)} />}
      {who && <DismissDialog member={who} room={view.room} onClose={() => dismiss(undefined)} />}
    </>
  );
}
