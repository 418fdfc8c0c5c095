import { Ellipsis, Gavel, Network, Pause, Play, Square } from "lucide-react";
import { useState } from "react";
import { useNavigate, useSearchParams } from "react-router";

import { NotesButton } from "@/memory/NotesButton";
import { DecisionsDialog } from "@/rooms/DecisionsDialog";
import { MarksDialog } from "@/rooms/MarksDialog";
import { RemoveDialog } from "@/rooms/RemoveDialog";
import { give, type Order, type Room } from "@/rooms/rooms";
import { save } from "@/rooms/save";
import { SettingsDialog } from "@/rooms/SettingsDialog";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input } from "@/ui/field";
import { Menu, type MenuItem } from "@/ui/menu";
import { useOrder } from "@/ui/toasts";

type Asked = "cancel" | "close" | "continue" | "marks" | "settings";

/** What was proposed in a room; the address says whether it is shown. */
function Decisions({ room }: { room: Room["room"] }) {
  const [params, setParams] = useSearchParams();
  const show = (open: boolean) =>
    setParams((was) => {
      const next = new URLSearchParams(was);
      if (open) {
        next.set("decisions", "");
      } else {
        next.delete("decisions");
      }
      return next;
    });
  return (
    <>
      <Button icon={<Gavel aria-hidden size={15} />} onClick={() => show(true)}>
        {room.proposals > 0 ? `Decisions (${room.proposals})` : "Decisions"}
      </Button>
      {params.has("decisions") && <DecisionsDialog room={room} onClose={() => show(false)} />}
    </>
  );
}

/** Shows the plan of a room beside it, or hides it. */
function Plan() {
  const [params, setParams] = useSearchParams();
  const open = params.has("plan");
  return (
    <Button
      icon={<Network aria-hidden size={15} />}
      aria-pressed={open}
      onClick={() =>
        setParams((was) => {
          const next = new URLSearchParams(was);
          if (open) {
            next.delete("plan");
          } else {
            next.set("plan", "");
          }
          return next;
        })
      }
    >
      Plan
    </Button>
  );
}

/** What can be ordered of a whole room. */
export function RoomOrders({ view }: { view: Room }) {
  const [removing, remove] = useState(false);
  const navigate = useNavigate();
  return (
    <>
      <Orders view={view} remove={() => remove(true)} />
      {/* It stays while the room is closed, which is the first part of a removal. */}
      {removing && <RemoveDialog view={view} onClose={() => remove(false)} onGone={() => void navigate("/rooms")} />}
    </>
  );
}

function Orders({ view, remove }: { view: Room; remove: () => void }) {
  const { room, members } = view;
  const [params, setParams] = useSearchParams();
  const order = useOrder(give.order);
  const [asked, ask] = useState<Asked>();
  const ordered = (o: Order) => order.mutate({ room: room.name, ...o });
  const exports: readonly MenuItem[] = [
    { label: "Export as Markdown", run: () => void save(room.name, "md") },
    { label: "Export as JSON", run: () => void save(room.name, "json") },
  ];
  const removal: MenuItem = { label: "Remove the room…", run: remove, bad: true };
  if (room.phase === "closed") {
    return (
      <>
        <Decisions room={room} />
        <NotesButton room={room.name} />
        <Plan />
        <Button tone="accent" icon={<Play aria-hidden size={15} />} busy={order.isPending} onClick={() => ordered({ do: "reopen" })}>
          Reopen
        </Button>
        <More items={[...exports, removal]} />
        </>
    );
  }
  const turns = members.filter((m) => m.turn !== "").length;
  const under = turns > 0 || room.phase === "gathering" || room.phase === "waits" || room.phase === "paused";
  return (
    <>
      <Decisions room={room} />
      <NotesButton room={room.name} />
      <Plan />
      {room.phase === "paused" ? (
        <Button icon={<Play aria-hidden size={15} />} busy={order.isPending} onClick={() => ordered({ do: "resume" })}>
          Resume
        </Button>
      ) : (
        <Button icon={<Pause aria-hidden size={15} />} title="Turns under way end; no other begins" busy={order.isPending} onClick={() => ordered({ do: "pause" })}>
          Pause
        </Button>
      )}
      {turns > 0 && (
        <Button tone="bad" icon={<Square aria-hidden size={15} />} title="Interrupts all turns and pauses the room" busy={order.isPending} onClick={() => ordered({ do: "stop" })}>
          Stop all
        </Button>
      )}
      <More
        items={[
          { label: "Continue the round…", run: () => ask("continue"), disabled: room.round === 0 },
          { label: "Cancel the round…", run: () => ask("cancel"), disabled: !under },
          ...exports,
          { label: "Settings…", run: () => ask("settings") },
          { label: "What marks mean", run: () => ask("marks") },
          { label: "Close the room…", run: () => ask("close"), bad: true },
          removal,
        ]}
      />
      {asked === "marks" && <MarksDialog onClose={() => ask(undefined)} />}
      {(asked === "settings" || params.has("settings")) && (
        <SettingsDialog
          view={view}
          onClose={() => {
            ask(undefined);
            setParams({}, { replace: true });
          }}
        />
      )}
      {asked === "continue" ? (
        <Continue
          room={room}
          onClose={() => ask(undefined)}
          onGive={(n) => {
            ordered({ do: "continue", ...(n === undefined ? {} : { n }) });
            ask(undefined);
          }}
        />
      ) : (
        (asked === "cancel" || asked === "close") && (
          <Dialog title={texts[asked].title} open onOpenChange={() => ask(undefined)}>
            <p className="mb-4">{texts[asked].text}</p>
            <div className="flex justify-end gap-2">
              <Button data-first="" onClick={() => ask(undefined)}>
                Go back
              </Button>
              <Button
                tone="bad"
                onClick={() => {
                  ordered({ do: asked });
                  ask(undefined);
                }}
              >
                {texts[asked].action}
              </Button>
            </div>
          </Dialog>
        )
      )}
    </>
  );
}

function More({ items }: { items: readonly MenuItem[] }) {
  return <Menu trigger={<Button aria-label="More orders" title="More orders" icon={<Ellipsis aria-hidden size={16} />} />} items={items} />;
}

const texts: Readonly<Record<"cancel" | "close", { title: string; text: string; action: string }>> = {
  cancel: { title: "Cancel the round?", text: "Turns under way are interrupted; what they have said is kept. No earlier message wakes anybody any more.", action: "Cancel the round" },
  close: { title: "Close the room?", text: "Turns under way are interrupted and the members' programs end. Everything that was said is kept, and you can reopen the room.", action: "Close the room" },
};

function Continue({ room, onClose, onGive }: { room: Room["room"]; onClose: () => void; onGive: (n: number | undefined) => void }) {
  const [turns, setTurns] = useState("");
  const n = turns.trim() === "" ? undefined : Number(turns);
  const wrong = n !== undefined && !(Number.isInteger(n) && n > 0 && n <= 100);
  return (
    <Dialog title="Continue the round" open onOpenChange={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          if (!wrong) {
            onGive(n);
          }
        }}
      >
        <Field label="Turns of each member" hint={`Each member may take so many more turns. Empty: ${room.settings.turns}, as the room's settings say.`} error={wrong ? "This must be a number from 1 to 100." : undefined}>
          {(ids) => <Input {...ids} inputMode="numeric" value={turns} onChange={(e) => setTurns(e.target.value)} />}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Go back</Button>
          <Button type="submit" tone="accent" disabled={wrong}>
            Continue
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
