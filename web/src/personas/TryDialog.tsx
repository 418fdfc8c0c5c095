import { useId, useState } from "react";
import { useNavigate } from "react-router";

import { api, hooks } from "@/api/client";
import { freeName, type Persona } from "@/personas/persona";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input, Textarea } from "@/ui/field";
import { tokens } from "@/ui/figures";
import { say, useOrder } from "@/ui/toasts";
import { useLater } from "@/ui/useLater";

interface Asked {
  name: string;
  member: string;
  text: string;
}

/** Opens a room of one member and asks it once. */
async function ask({ name, member, text }: Asked): Promise<string> {
  const { data } = await api.POST("/api/rooms", { body: { name, members: [member], settings: { topic: "A try", policy: "once" } } });
  data?.remarks.forEach(say);
  await api.POST("/api/rooms/{room}/messages", { params: { path: { room: name } }, body: { text, key: `try-${name}` } });
  return name;
}

/** Asks a persona one question, after it has said what that costs. */
export function TryDialog({ persona: p, onClose }: { persona: Persona; onClose: () => void }) {
  const start = hooks.useQuery("get", "/api/graph/start").data;
  const rooms = hooks.useQuery("get", "/api/rooms", { params: { query: { limit: 1000 } } });
  const list = useId();
  const [kind, setKind] = useState(p.kind);
  const [text, setText] = useState("");
  const navigate = useNavigate();
  const order = useOrder(ask);
  const taken = rooms.data?.items.map((r) => r.room.name.toLowerCase());
  const name = taken === undefined ? undefined : freeName(p.name, taken);
  const member = `${kind.trim()}=${p.name}:${p.name}`;
  const asked = useLater(member, 400);
  const plan = hooks.useQuery("post", "/api/rooms/plan", { body: { members: [asked], settings: { policy: "once" } } }, { enabled: asked === member && kind.trim() !== "", retry: false, staleTime: 60_000 });
  const ready = name !== undefined && plan.data !== undefined && asked === member;
  return (
    <Dialog title={`Try ${p.name}`} description="Opens a room of this one member and asks it. Close or remove the room afterwards." open onOpenChange={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          if (name !== undefined) {
            order.mutate(
              { name, member, text: text.trim() },
              {
                onSuccess: (room) => {
                  onClose();
                  void navigate(`/rooms/${encodeURIComponent(room)}`);
                },
              },
            );
          }
        }}
      >
        {p.kind === "" && (
          <>
            <Field label="Kind" hint="The persona is for any kind: which program takes it?">
              {(ids) => <Input {...ids} list={list} value={kind} autoComplete="off" onChange={(e) => setKind(e.target.value)} />}
            </Field>
            <datalist id={list}>
              {start?.kinds.map((k) => (
                <option key={k} value={k} />
              ))}
            </datalist>
          </>
        )}
        <Field label="Question">{(ids) => <Textarea {...ids} value={text} placeholder="What would you look at first in this project?" onChange={(e) => setText(e.target.value)} />}</Field>
        <div role="status" className="rounded-md bg-sunken p-3 text-muted">
          {kind.trim() === "" ? (
            <p>Choose a kind to see what a question costs.</p>
          ) : plan.error !== null ? (
            <p className="text-bad wrap-anywhere">{plan.error.detail}</p>
          ) : ready ? (
            <>
              <p>{`One turn of ${kind.trim()}${p.model === "" ? "" : ` (${p.model})`}: about ${tokens(plan.data.cost.least)} tokens, and what it reads. Room: ${name}.`}</p>
              {plan.data.remarks.map((r) => (
                <p key={r} className="mt-1 wrap-anywhere">
                  {r}
                </p>
              ))}
            </>
          ) : (
            <p>Looking at the program…</p>
          )}
        </div>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="accent" busy={order.isPending} disabled={!ready || text.trim() === ""}>
            Ask
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
