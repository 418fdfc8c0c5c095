import { BellRing, Keyboard } from "lucide-react";
import { Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useNavigate, useSearchParams } from "react-router";

import type { Api } from "@/api/client";
import { Boundary } from "@/app/Boundary";
import { useWide } from "@/layout/wide";
import { byWait, filters, nextOf, shows, terminalOf } from "@/needs/answers";
import { useDecide, undo } from "@/needs/held";
import { handleKey } from "@/needs/keys";
import { NeedRow } from "@/needs/NeedRow";
import { useNeeds, useWaiting } from "@/needs/needs";
import { usePermission } from "@/needs/notify";
import { isNew, useOnboarding } from "@/onboarding/useOnboarding";
import { Keys } from "@/palette/Keys";
import { Button, IconButton } from "@/ui/button";
import { Field, Select } from "@/ui/field";
import { count } from "@/ui/figures";
import { lazily } from "@/ui/lazily";
import { Page } from "@/ui/page";
import { Answer, Empty, Loading } from "@/ui/states";
import { useLater } from "@/ui/useLater";

const CaseView = lazily(() => import("@/needs/CaseView"));
const Welcome = lazily(() => import("@/onboarding/Welcome"));
const SeveralView = lazily(() => import("@/needs/SeveralView"));

type Need = Api<"Need">;

/** How many are drawn at first, and how many more at a time. */
const step = 100;
/** How long a case that came by itself is seen before a key decides about it, in milliseconds. */
const settling = 500;

/** What waits for the person: a list, and the whole case beside it. */
export function NeedsPage() {
  const needs = useNeeds();
  const waiting = useWaiting();
  return (
    <Page title="Needs you" about={waiting && <span>{count(waiting.total, "thing waits", "things wait")}</span>} actions={<Actions />} ready={!needs.isPending}>
      <Answer query={needs}>
        {() =>
          waiting === undefined || waiting.items.length === 0 ? (
            <Nothing />
          ) : (
            <Inbox items={waiting.items} total={waiting.total} />
          )
        }
      </Answer>
    </Page>
  );
}

/** What stands there while nothing waits: for a project that nobody has begun with, how to begin. */
function Nothing() {
  const { data, isPending } = useOnboarding();
  const empty = <Empty title="Nothing needs you">Questions, gates, reviews, failures, unmerged tasks, rooms, limits, conflicts and messages appear here.</Empty>;
  if (isPending) {
    return null;
  }
  return data && isNew(data) ? (
    <Boundary instead={empty}>
      <Suspense>
        <Welcome />
      </Suspense>
    </Boundary>
  ) : (
    empty
  );
}

function Inbox({ items, total }: { items: readonly Need[]; total: number }) {
  const wide = useWide();
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const decide = useDecide();
  const [shown, setShown] = useState(step);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [picked, pick] = useState<string>(); // by the person, so a key may decide about it at once
  const filter = params.get("kind");
  const run = params.get("run");
  const all = useMemo(() => byWait(items), [items]);
  const runs = [...new Map(all.flatMap((n) => (n.run === undefined ? [] : [[n.run, n.session ?? n.run] as const])))];
  const list = useMemo(() => all.filter((n) => shows(filter, n) && (run === null || n.run === run)), [all, filter, run]);
  const several = list.filter((n) => chosen.has(n.id));

  // The case that is seen. When it goes, the one behind it comes; where it has the list's place, the list does: the next
  // case would have its buttons under the same thumb.
  const asked = params.get("need") ?? undefined;
  const [before, setBefore] = useState(list); // when it was there last
  const here = list.find((n) => n.id === asked);
  if (here !== undefined && before !== list) {
    setBefore(list);
  }
  const current = here ?? (wide ? nextOf(before, list, asked) : undefined);
  const set = useCallback(
    (over: Record<string, string | undefined>, replace: boolean) =>
      setParams(
        (was) => {
          const next = new URLSearchParams(was);
          for (const [k, v] of Object.entries(over)) {
            if (v === undefined) {
              next.delete(k);
            } else {
              next.set(k, v);
            }
          }
          return next;
        },
        { replace },
      ),
    [setParams],
  );
  useEffect(() => {
    if (current?.id !== asked) {
      set({ need: current?.id }, true);
    }
  }, [asked, current?.id, set]);
  const settled = useLater(current?.id, settling, undefined) === current?.id || picked === current?.id;
  const steady = useLater(current?.id, settling, undefined) === current?.id; // for clicks

  const to = useCallback(
    (n: Need) => {
      const next = new URLSearchParams(params);
      next.set("need", n.id);
      return `?${next.toString()}`;
    },
    [params],
  );
  const go = (n: Need | undefined) => {
    if (n !== undefined) {
      pick(n.id);
      set({ need: n.id }, asked !== undefined);
      document.querySelector<HTMLElement>(`[data-need="${CSS.escape(n.id)}"]`)?.focus({ preventScroll: false });
    }
  };
  const choose = useCallback((id: string) => setChosen((was) => (was.has(id) ? new Set([...was].filter((i) => i !== id)) : new Set([...was, id]))), []);
  const at = list.findIndex((n) => n.id === current?.id);

  const press = useRef<(e: KeyboardEvent) => void>(undefined);
  useEffect(() => {
    press.current = (e) =>
      handleKey(e, {
        needs: several.length > 0 ? several : current === undefined || !settled ? [] : [current],
        move: (by) => go(list[Math.min(list.length - 1, Math.max(0, at + by))]),
        choose: () => current && choose(current.id),
        clear: () => (several.length > 0 ? setChosen(new Set()) : set({ need: undefined }, true)),
        undo: () => void undo(),
        decide: (of, text, send) => {
          decide(of, text, send);
          setChosen(new Set());
        },
        terminal: (n) => {
          const place = terminalOf(n);
          if (place !== undefined) {
            void navigate(place, { state: { take: true } });
          }
        },
      });
  });
  useEffect(() => {
    const listen = (e: KeyboardEvent) => press.current?.(e);
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);

  const theList = (
    <section aria-label="List" className={`flex min-h-0 flex-col ${wide ? "wide-96 shrink-0 border-r border-line" : "grow"}`}>
      <div className="flex flex-wrap gap-1 border-b border-line p-2" role="group" aria-label="Filters">
        <Chip on={filter === null} onClick={() => set({ kind: undefined }, true)} text="All" n={all.length} />
        {filters.map(([id, text]) => {
          const n = all.filter((one) => shows(id, one)).length;
          return (n > 0 || filter === id) && <Chip key={id} on={filter === id} onClick={() => set({ kind: filter === id ? undefined : id }, true)} text={text} n={n} />;
        })}
        {(runs.length > 1 || run !== null) && (
          <div className="w-full">
            <Field label="Run" hidden>
              {(ids) => <Select {...ids} value={run ?? ""} onChange={(e) => set({ run: e.target.value === "" ? undefined : e.target.value }, true)} options={[["", "All runs"], ...runs]} />}
            </Field>
          </div>
        )}
      </div>
      {list.length === 0 ? (
        <Empty title="Nothing of this kind waits">Choose another filter.</Empty>
      ) : (
        <div className="min-h-0 grow overflow-y-auto">
          <ul aria-label="What waits for you">
            {list.slice(0, shown).map((n) => (
              <NeedRow key={n.id} need={n} to={to(n)} current={n.id === current?.id} chosen={chosen.has(n.id)} choose={choose} pick={pick} />
            ))}
          </ul>
          {list.length > shown ? (
            <p className="p-3 text-center">
              <Button onClick={() => setShown(shown + step)}>Show {Math.min(step, list.length - shown)} more</Button>
            </p>
          ) : (
            total > items.length && <p className="p-3 text-center text-muted">{`${count(total - items.length, "older unread message")} in your inbox (Chat)`}</p>
          )}
        </div>
      )}
    </section>
  );
  const theCase = (
    <Boundary key={several.length > 0 ? "several" : current?.id} instead={null}>
      <Suspense fallback={<Loading />}>
        {several.length > 0 ? (
          <SeveralView needs={several} clear={() => setChosen(new Set())} />
        ) : (
          current !== undefined && (
            <CaseView
              need={current}
              steady={steady}
              like={list.filter((n) => n.id !== current.id && n.run === current.run && likes(n, current))}
              chooseAll={(ids) => setChosen(new Set(ids))}
              back={wide ? undefined : () => set({ need: undefined }, true)}
            />
          )
        )}
      </Suspense>
    </Boundary>
  );
  // In one place of the tree for every width: what is being typed outlives a turn of the telephone.
  return (
    <div className={`flex min-h-0 grow ${wide ? "" : "flex-col"}`}>
      {(wide || current === undefined || several.length > 0) && theList}
      {(several.length > 0 || current !== undefined) && <div className={`flex min-h-0 min-w-0 flex-col ${wide || several.length === 0 ? "grow" : "order-first shrink-0 border-b border-line"}`}>{theCase}</div>}
    </div>
  );
}

/** Whether one decision may fit both. */
function likes(a: Need, b: Need): boolean {
  return a.kind === b.kind && a.orders?.[0] === b.orders?.[0];
}

function Chip({ on, onClick, text, n }: { on: boolean; onClick: () => void; text: string; n: number }) {
  return (
    <button
      type="button"
      aria-pressed={on}
      onClick={onClick}
      className="inline-flex min-h-7 items-center gap-1 rounded-full border border-line px-2.5 text-sm text-muted hover:bg-sunken aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-accent"
    >
      {text} <span className="tabular-nums">{n}</span>
    </button>
  );
}

function Actions() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <IconButton label="Keys (?)" className="max-md:hidden" onClick={() => setOpen(true)}>
        <Keyboard size={16} />
      </IconButton>
      <Notify />
      <Keys open={open} onOpenChange={setOpen} />
    </>
  );
}

function Notify() {
  const [permission, ask] = usePermission();
  switch (permission) {
    case "unsupported":
      return null;
    case "granted":
      return <span className="text-muted">Notifications are on</span>;
    case "denied":
      return <span className="text-muted">The browser blocks notifications</span>;
    default:
      return (
        <Button icon={<BellRing aria-hidden size={15} />} onClick={ask}>
          <span className="max-md:sr-only">Notify me</span>
        </Button>
      );
  }
}
