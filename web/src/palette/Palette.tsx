import { Command } from "cmdk";
import { useState } from "react";
import { useNavigate } from "react-router";

import { called } from "@/agents/agents";
import { hooks } from "@/api/client";
import { pages } from "@/app/pages";
import { OrderForm } from "@/palette/OrderForm";
import type { Order } from "@/palette/orders";

const group = "[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:text-[0.85em] [&_[cmdk-group-heading]]:font-semibold [&_[cmdk-group-heading]]:text-muted";
const line = "flex min-h-8 cursor-pointer items-center gap-2 rounded-md px-2 aria-selected:bg-accent-soft";

/** Pages, agents, runs, tasks, and every order: chosen by typing. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const agents = hooks.useQuery("get", "/api/agents");
  const runs = hooks.useQuery("get", "/api/runs", { params: { query: { limit: 50 } } });
  const tasks = hooks.useQuery("get", "/api/tasks", { params: { query: { limit: 200 } } });
  const orders = hooks.useQuery("get", "/api/orders");
  const [asked, ask] = useState<Order>();
  if (asked) {
    return <OrderForm order={asked} onClose={onClose} />;
  }
  const go = (to: string) => {
    onClose();
    void navigate(to);
  };
  return (
    <Command.Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      label="Commands"
      overlayClassName="fixed inset-0 z-40 bg-text/40"
      contentClassName="fixed top-[12vh] left-1/2 z-50 w-[calc(100vw-1.5rem)] max-w-2xl -translate-x-1/2 overflow-hidden rounded-lg border border-line bg-raised shadow-xl"
    >
      <Command.Input placeholder="A page, an agent, a run, a task or an order" className="min-h-11 w-full border-b border-line bg-transparent px-4 text-text outline-offset-[-2px] placeholder:text-muted" />
      <Command.List className="max-h-[60vh] overflow-y-auto p-2">
        <Command.Empty className="p-4 text-center text-muted">Nothing has these words.</Command.Empty>
        <Command.Group heading="Pages" className={group}>
          {pages.map(
            ({ path, nav }) =>
              nav && (
                <Command.Item key={path} value={`page ${nav.label}`} onSelect={() => go(`/${path}`)} className={line}>
                  <nav.icon aria-hidden size={15} className="text-muted" />
                  {nav.label}
                </Command.Item>
              ),
          )}
        </Command.Group>
        <Command.Group heading="Agents" className={group}>
          {agents.data?.items.map((a) => (
            <Command.Item key={a.name} value={`agent ${a.name} ${a.display_name ?? ""}`} onSelect={() => go(`/agents/${encodeURIComponent(a.name)}`)} className={line}>
              <span className="truncate">{called(a)}</span>
              <span className="text-muted">{a.state}</span>
            </Command.Item>
          ))}
        </Command.Group>
        <Command.Group heading="Runs" className={group}>
          {runs.data?.items.map((r) => (
            <Command.Item key={r.id} value={`run ${r.id} ${r.session}`} onSelect={() => go(`/runs/${encodeURIComponent(r.id)}`)} className={line}>
              {r.id}
              <span className="text-muted">
                {r.session} {r.state}
              </span>
            </Command.Item>
          ))}
        </Command.Group>
        <Command.Group heading="Tasks" className={group}>
          {tasks.data?.items.map((t) => (
            <Command.Item key={t.id} value={`task ${t.id} ${t.title}`} onSelect={() => go(`/tasks/${encodeURIComponent(t.id)}`)} className={line}>
              <span className="text-muted">{t.id}</span>
              <span className="truncate">{t.title}</span>
            </Command.Item>
          ))}
        </Command.Group>
        <Command.Group heading="Orders" className={group}>
          {orders.data?.items.map((o) => (
            <Command.Item key={o.id} value={`order ${o.group} ${o.summary} ${o.id}`} onSelect={() => ask(o)} className={line}>
              <span className="grow">{o.summary}</span>
              <span className="text-muted">{o.group}</span>
            </Command.Item>
          ))}
        </Command.Group>
      </Command.List>
    </Command.Dialog>
  );
}
