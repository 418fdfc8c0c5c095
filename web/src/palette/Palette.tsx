import { useQueries } from "@tanstack/react-query";
import { Command } from "cmdk";
import { Bot, ClipboardList, MessagesSquare, Settings, SquareDot, Workflow, Zap, type LucideIcon } from "lucide-react";
import { useMemo, useState } from "react";
import { useNavigate } from "react-router";

import { called } from "@/agents/agents";
import { SpawnDialog } from "@/agents/SpawnDialog";
import { hooks } from "@/api/client";
import { pages } from "@/app/pages";
import { nameOf, type Named } from "@/palette/commands";
import { looks } from "@/palette/looks";
import { OrderForm } from "@/palette/OrderForm";
import type { Order } from "@/palette/orders";
import { places } from "@/palette/places";
import { rank, type Findable } from "@/palette/rank";
import { useRooms } from "@/rooms/rooms";
import { StartDialog } from "@/runs/StartDialog";
import { AddDialog } from "@/tasks/AddDialog";

/** How many things are listed. */
const most = 50;
/** How many live runs' nodes are found. */
const runsLooked = 3;

interface Thing extends Findable {
  key: string;
  icon: LucideIcon;
  about: string;
  to?: string;
  order?: Order;
  dialog?: NonNullable<Named["dialog"]>;
  set?: () => void;
}

interface PaletteProps {
  typed: string;
  type: (text: string) => void;
  onClose: () => void;
}

/** Pages, agents, runs, nodes, tasks, and every command: found by the words that people type. */
export default function Palette({ typed, type, onClose }: PaletteProps) {
  const navigate = useNavigate();
  const things = useThings();
  const found = useMemo(() => (typed.trim() === "" ? things.filter(offered) : rank(things, typed, most)), [things, typed]);
  const [asked, ask] = useState<Thing>();
  const [chosen, choose] = useState<{ typed: string; key: string }>();
  if (asked?.dialog === "run") {
    return <StartDialog open onOpenChange={onClose} />;
  }
  if (asked?.dialog === "task") {
    return <AddDialog backlog={false} onClose={onClose} />;
  }
  if (asked?.dialog === "worker") {
    return <SpawnDialog onClose={onClose} />;
  }
  if (asked?.order) {
    return <OrderForm order={asked.order} label={asked.label} onClose={onClose} />;
  }
  const carryOut = (t: Thing) => {
    if (t.set) {
      onClose();
      t.set();
      return;
    }
    if (t.to === undefined) {
      ask(t);
      return;
    }
    onClose();
    void navigate(t.to);
  };
  // What was chosen for other words is forgotten: Enter takes the best.
  const current = chosen?.typed === typed && found.some((t) => t.key === chosen.key) ? chosen.key : (found[0]?.key ?? "");
  return (
    <Command.Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      label="Find a page, a thing or a command"
      shouldFilter={false}
      value={current}
      onValueChange={(key) => choose({ typed, key })}
      overlayClassName="fixed inset-0 z-40 bg-text/40"
      contentClassName="fixed top-[12vh] left-1/2 z-50 w-[calc(100vw-1.5rem)] max-w-2xl -translate-x-1/2 overflow-hidden rounded-lg border border-line bg-raised shadow-xl"
    >
      <Command.Input
        value={typed}
        onValueChange={type}
        placeholder="Find a page, an agent, a room, a run, a node, a task or a command"
        className="min-h-11 w-full border-b border-line bg-transparent px-4 text-text outline-offset-[-2px] placeholder:text-muted"
      />
      <Command.List className="max-h-[60vh] overflow-y-auto p-2">
        <Command.Empty className="p-4 text-center text-muted">Nothing has these words. Try another one, such as stop, add or graph.</Command.Empty>
        {found.map((t) => (
          <Command.Item key={t.key} value={t.key} onSelect={() => carryOut(t)} className="flex min-h-8 cursor-pointer items-center gap-2 rounded-md px-2 aria-selected:bg-accent-soft">
            <t.icon aria-hidden size={15} className="shrink-0 text-muted" />
            <span className="min-w-0 truncate">{t.label}</span>
            <span className="ml-auto max-w-[50%] shrink-0 truncate pl-2 text-muted">{t.about}</span>
          </Command.Item>
        ))}
      </Command.List>
    </Command.Dialog>
  );
}

/** What is listed before anything is typed: the pages, and what people do most. */
function offered(t: Thing): boolean {
  return pages.some((p) => t.kind === "page" && p.label === t.label) || t.dialog !== undefined || t.order?.path === "/api/messages";
}

const ended = new Set(["done", "failed", "stopped"]);

function useThings(): readonly Thing[] {
  const agents = hooks.useQuery("get", "/api/agents").data?.items;
  const runs = hooks.useQuery("get", "/api/runs", { params: { query: { limit: 50 } } }).data?.items;
  const tasks = hooks.useQuery("get", "/api/tasks", { params: { query: { limit: 200 } } }).data?.items;
  const rooms = useRooms().data?.items;
  const orders = hooks.useQuery("get", "/api/orders").data?.items;
  const live = (runs ?? []).filter((r, i) => i === 0 || !ended.has(r.state)).slice(0, runsLooked);
  const nodes = useQueries({
    queries: live.map((r) => hooks.queryOptions("get", "/api/runs/{id}/graph", { params: { path: { id: r.id } } })),
    combine: (all) => all.flatMap((q, i) => (q.data?.nodes ?? []).map((n) => ({ run: live[i], n }))),
  });
  return useMemo(
    () => [
      ...places.map((p): Thing => ({ ...p, key: `page ${p.label}`, about: p.inside === "" ? "" : `in ${p.inside}` })),
      ...(orders ?? []).flatMap((o): Thing[] => {
        const name = nameOf(o);
        const { to, dialog } = name ?? {};
        return name === null
          ? []
          : [{ kind: "command", key: `command ${o.id}`, icon: Zap, label: name.label, words: name.words ?? "", about: "command", order: o, ...(to === undefined ? {} : { to }), ...(dialog === undefined ? {} : { dialog }) }];
      }),
      ...looks.map((l): Thing => ({ ...l, key: `look ${l.label}`, icon: Settings, about: "in this browser" })),
      ...(agents ?? []).map((a): Thing => ({ kind: "agent", key: `agent ${a.name}`, icon: Bot, label: called(a), words: `agent ${a.name} ${a.role}`, about: `agent, ${a.state}`, to: `/agents/${encodeURIComponent(a.name)}` })),
      ...(rooms ?? []).map(({ room: r }): Thing => ({ kind: "room", key: `room ${r.name}`, icon: MessagesSquare, label: r.name, words: `room ${r.topic}`, about: `room, ${r.label}`, to: `/rooms/${encodeURIComponent(r.name)}` })),
      ...(runs ?? []).map((r): Thing => ({ kind: "run", key: `run ${r.id}`, icon: Workflow, label: r.session, words: `run ${r.id} ${r.state}`, about: `run ${r.id}, ${r.state}`, to: `/runs/${encodeURIComponent(r.id)}` })),
      ...nodes.map(({ run, n }): Thing => ({ kind: "node", key: `node ${run?.id ?? ""} ${n.name}`, icon: SquareDot, label: n.name, words: `node ${n.label}`, about: `node of ${run?.session ?? ""}, ${n.label}`, to: `/runs/${encodeURIComponent(run?.id ?? "")}/nodes/${encodeURIComponent(n.name)}` })),
      ...(tasks ?? []).map((t): Thing => ({ kind: "task", key: `task ${t.id}`, icon: ClipboardList, label: t.title, words: `task ${t.id}`, about: `${t.id}, ${t.label}`, to: `/tasks/${encodeURIComponent(t.id)}` })),
    ],
    [agents, rooms, runs, tasks, orders, nodes],
  );
}
