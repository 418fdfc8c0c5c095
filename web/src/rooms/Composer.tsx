import { keepPreviousData } from "@tanstack/react-query";
import { Send, X } from "lucide-react";
import { useState } from "react";

import { hooks } from "@/api/client";
import { usePrefs } from "@/app/prefs";
import { sends, useDraft } from "@/chat/draft";
import { marks, upload, useAttached } from "@/rooms/attach";
import { AttachButton, PickedFiles } from "@/rooms/Attached";
import { forgetKey, keyOf } from "@/rooms/draft";
import { NamedArea } from "@/rooms/NamedArea";
import { calledBy, give, type Message, type Room } from "@/rooms/rooms";
import { Button, IconButton } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Select } from "@/ui/field";
import { tokens } from "@/ui/figures";
import { useOrder } from "@/ui/toasts";
import { useLater } from "@/ui/useLater";

interface ComposerProps {
  view: Room;
  re: Message | undefined; // the message that it answers
  forget: () => void; // answers none
  onSent: () => void;
}

/** A message to all members or to one, and what it will cost. */
export function Composer({ view: { room, members }, re, forget, onSent }: ComposerProps) {
  const [text, setText] = useDraft(`room:${room.name}`);
  const [to, setTo] = useState("");
  const [note, setNote] = useState("");
  const enterSends = usePrefs((p) => p.enterSends);
  const names = members.map((m) => m.name);
  const direct = names.includes(to) ? to : ""; // it may have left
  const paused = room.phase === "paused";
  const attached = useAttached(room.name, room.phase !== "closed");
  const [asks, setAsks] = useState<{ least: number; resume: boolean }>(); // the message is to be confirmed
  const send = useOrder(async ({ resume, sure }: { resume: boolean; sure: boolean }) => {
    const draft = { text, to: direct, re: re?.n ?? 0, files: marks(attached.files) };
    if (!sure && room.confirm > 0) {
      const { data: cost } = await give.cost({ room: room.name, text, ...(draft.to === "" ? {} : { to: draft.to }) });
      if (cost !== undefined && cost.least > room.confirm) {
        setAsks({ least: cost.least, resume });
        return "asks";
      }
    }
    const files = await upload(room.name, attached.files);
    const { data } = await give.say({
      room: room.name,
      text,
      key: keyOf(room.name, draft),
      ...(draft.to === "" ? {} : { to: draft.to }),
      ...(draft.re === 0 ? {} : { re: draft.re }),
      ...(resume ? { resume } : {}),
      ...(files.length === 0 ? {} : { files }),
    });
    return data;
  });
  const submit = (resume = false, sure = false) => {
    setAsks(undefined);
    if (text.trim() !== "" && !send.isPending) {
      send.mutate({ resume, sure }, {
        onSuccess: (said) => {
          if (said === "asks") {
            return;
          }
          forgetKey(room.name);
          setText("");
          attached.clear();
          setNote(paused && !resume ? "It waits until the room is resumed." : said !== undefined && said.wakes.length === 0 ? `#${said.message} wakes nobody.` : "");
          forget();
          onSent();
        },
      });
    }
  };
  return (
    <form
      aria-label={`Write to ${room.name}`}
      className={`flex shrink-0 flex-col gap-2 border-t bg-surface p-3 ${attached.over ? "border-accent bg-accent-soft" : "border-line"}`}
      {...attached.target}
      onSubmit={(e) => {
        e.preventDefault();
        submit();
      }}
    >
      {asks !== undefined && (
        <Dialog title="Send this message?" open onOpenChange={() => setAsks(undefined)}>
          <p className="mb-4">{`It uses at least ${tokens(asks.least)} tokens (estimated), and you are asked above ${tokens(room.confirm)}.`}</p>
          <div className="flex justify-end gap-2">
            <Button onClick={() => setAsks(undefined)}>Cancel</Button>
            <Button data-first="" tone="accent" onClick={() => submit(asks.resume, true)}>
              Send message
            </Button>
          </div>
        </Dialog>
      )}
      {re !== undefined && (
        <p className="flex items-center gap-1 text-muted">
          <span className="min-w-0 truncate">{`Answers #${re.n} of ${calledBy(re.by)}: ${re.text === "" ? re.aside : re.text}`}</span>
          <IconButton label="Answer no message" className="min-h-6 shrink-0" onClick={forget}>
            <X aria-hidden size={14} />
          </IconButton>
        </p>
      )}
      <Field label={`Message to ${room.name}`} hidden>
        {(ids) => (
          <NamedArea
            ids={ids}
            value={text}
            names={names}
            disabled={room.phase === "closed"}
            placeholder={room.phase === "closed" ? "The room is closed. Reopen it to write." : `Message (${enterSends ? "Enter sends, Shift+Enter breaks the line" : "Ctrl+Enter sends"}; @ names a member)`}
            onChange={(next) => {
              setText(next);
              setNote("");
            }}
            onPress={(e) => {
              if (sends(e.nativeEvent, enterSends) === true) {
                e.preventDefault();
                submit();
              }
            }}
          />
        )}
      </Field>
      <PickedFiles files={attached.files} remove={attached.remove} disabled={send.isPending} />
      <div className="flex flex-wrap items-center gap-2">
        <AttachButton add={attached.add} disabled={send.isPending || room.phase === "closed"} />
        <Field label="To" hidden>
          {(ids) => <Select {...ids} className="max-w-40" disabled={room.phase === "closed"} options={[["", "To all"], ...names.map((n) => [n, `To ${n} alone`] as const)]} value={direct} onChange={(e) => setTo(e.target.value)} />}
        </Field>
        <div className="order-first min-w-0 basis-full empty:hidden md:order-none md:grow md:basis-40">
          {note !== "" ? (
            <p role="status" className="text-warn">
              {note}
            </p>
          ) : (
            text.trim() !== "" ? <Estimate room={room.name} text={text} to={direct} /> : attached.files.length > 0 && <p className="text-muted">Say what the files are for.</p>
          )}
        </div>
        <span className="ml-auto flex gap-2">
          {paused && (
            <Button busy={send.isPending} disabled={text.trim() === ""} onClick={() => submit(true)}>
              Send and resume
            </Button>
          )}
          <Button type="submit" tone="accent" icon={<Send aria-hidden size={15} />} busy={send.isPending} disabled={text.trim() === "" || room.phase === "closed"}>
            {direct === "" ? "Send" : `Send to ${direct}`}
          </Button>
        </span>
      </div>
    </form>
  );
}

/** How long nothing is typed before the cost is asked for, in milliseconds. */
const pause = 400;

/** Whom the message would wake, and the tokens that this may use. */
function Estimate({ room, text, to }: { room: string; text: string; to: string }) {
  const late = useLater(text, pause, undefined);
  const cost = hooks.useQuery(
    "post",
    "/api/rooms/{room}/cost",
    { params: { path: { room } }, body: { text: late ?? "", ...(to === "" ? {} : { to }) } },
    { enabled: late !== undefined, placeholderData: keepPreviousData, gcTime: 10_000, staleTime: 0 },
  );
  if (cost.data === undefined) {
    return null;
  }
  const { wakes, least, most } = cost.data;
  return (
    <p className="text-muted wrap-anywhere">
      {wakes.length === 0 ? "Wakes nobody: name a member with @." : `Wakes ${wakes.join(", ")}: about ${tokens(least)}${most > least ? `, at most ${tokens(most)}` : ""} tokens`}
    </p>
  );
}
