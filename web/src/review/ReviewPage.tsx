import { clsx } from "clsx";
import { GitMerge } from "lucide-react";
import { useState } from "react";
import { Link, useNavigate, useParams, useSearchParams } from "react-router";

import { hooks, type Api } from "@/api/client";
import { useWide } from "@/layout/wide";
import { useWaiting } from "@/needs/needs";
import { Merge } from "@/review/Merge";
import { asFirst, order, waits } from "@/review/order";
import { StateLabel, useStates, WorkReview } from "@/review/WorkReview";
import { Field, Input, Select } from "@/ui/field";
import { count } from "@/ui/figures";
import { LinkButton } from "@/ui/LinkButton";
import { Page } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";
import { Tabs } from "@/ui/tabs";

type Work = Api<"Delivery">;

/** A longer list can be searched. */
const searched = 12;

/** Review and merge of a run: that of the address, else one whose work waits, else the newest. */
export default function ReviewPage() {
  const { id } = useParams();
  return id === undefined ? <Newest /> : <OfRun run={id} />;
}

function Newest() {
  const runs = hooks.useQuery("get", "/api/runs");
  const waiting = useWaiting();
  const [first, setFirst] = useState<string>(); // it stays, whatever is decided
  const newest = runs.data?.items.toSorted((a, b) => (b.started_at ?? "").localeCompare(a.started_at ?? ""))[0]?.id;
  const found = waiting === undefined ? undefined : (waiting.items.find((n) => n.kind === "review")?.run ?? newest);
  if (first === undefined && found !== undefined) {
    setFirst(found);
  }
  return (
    <Answer query={runs}>
      {({ items }) =>
        first !== undefined ? (
          <OfRun run={first} />
        ) : (
          items.length === 0 && (
            <Page title="Review">
              <Empty title="There is no run yet">What nodes have finished is reviewed and merged here.</Empty>
            </Page>
          )
        )
      }
    </Answer>
  );
}

function OfRun({ run: asked }: { run: string }) {
  const navigate = useNavigate();
  const [params] = useSearchParams();
  const all = useWaiting()?.items.filter((n) => n.kind === "review") ?? [];
  const found = hooks.useQuery("get", "/api/runs/{id}", { params: { path: { id: asked } } });
  const whole = found.data?.run; // a part of its id will do
  const run = whole?.id ?? asked;
  const reviews = hooks.useQuery("get", "/api/runs/{id}/reviews", { params: { path: { id: run } } });
  const others = new Map(all.flatMap((n) => (n.run === undefined ? [] : [[n.run, `${n.session ?? n.run} (${all.filter((o) => o.run === n.run).length} to review)`] as const])));
  const stateOf = useStates(run);
  const waiting = reviews.data?.items.filter((w) => waits({ node: w.node, state: stateOf(w) })).length ?? 0;
  return (
    <Page
      title="Review"
      about={
        <>
          <Link to={`/runs/${encodeURIComponent(run)}`} className="inline-flex min-h-6 items-center text-accent underline">
            {`Run ${whole?.session ?? run}`}
          </Link>
          {reviews.data && <span>{`${count(waiting, "node")} to review`}</span>}
        </>
      }
      actions={
        <>
          {waiting === 0 && (reviews.data?.items.length ?? 0) > 0 && params.get("tab") !== "merge" && (
            <LinkButton tone="accent" icon={<GitMerge aria-hidden size={15} />} to="?tab=merge">
              Merge
            </LinkButton>
          )}
          {others.size > (others.has(run) ? 1 : 0) && (
            <Field label="Run" hidden>
              {(ids) => (
                <Select {...ids} value={run} onChange={(e) => void navigate(`/runs/${encodeURIComponent(e.target.value)}/review`)} options={[...(others.has(run) ? [] : [[run, whole?.session ?? run] as const]), ...others]} />
              )}
            </Field>
          )}
        </>
      }
      ready={!found.isPending && !reviews.isPending}
    >
      <Tabs
        label="Review and merge"
        tabs={[
          {
            id: "review",
            label: "To review",
            badge: waiting,
            content: () => (
              <Answer query={reviews}>
                {({ items }) => (items.length === 0 ? <Empty title="Nothing to review">Work appears here when a node is done.</Empty> : <Works key={run} run={run} items={items} />)}
              </Answer>
            ),
          },
          { id: "merge", label: "Merge", content: () => <Merge run={run} /> },
        ]}
      />
    </Page>
  );
}

/** The works in a list, and one of them whole. A decision moves nothing in the list. */
function Works({ run, items }: { run: string; items: readonly Work[] }) {
  const wide = useWide();
  const stateOf = useStates(run);
  const [params, setParams] = useSearchParams();
  const [typed, type] = useState("");
  const [first] = useState(() => order(items).map((w) => w.node));
  const list = asFirst(items, first);
  const at = Math.max(0, list.findIndex((w) => w.node === params.get("node")));
  const current = list[at];
  const go = (w: Work | undefined) => {
    if (w !== undefined) {
      setParams(
        (was) => {
          const next = new URLSearchParams(was);
          next.set("node", w.node);
          next.delete("file");
          next.delete("line");
          next.delete("all");
          return next;
        },
        { replace: true },
      );
    }
  };
  const decidedNow = () => go([...list.slice(at + 1), ...list.slice(0, at)].find((w) => waits({ node: w.node, state: stateOf(w) })));
  return (
    <div className={`flex min-h-0 grow ${wide ? "" : "flex-col"}`}>
      {wide ? (
        <div className="flex wide-64 shrink-0 flex-col border-r border-line">
          {list.length > searched && (
            <div className="shrink-0 border-b border-line p-2">
              <Field label="Find a node" hidden>
                {(ids) => <Input {...ids} type="search" placeholder="Find a node" value={typed} onChange={(e) => type(e.target.value)} />}
              </Field>
            </div>
          )}
          <ul aria-label="Work" className="min-h-0 grow overflow-y-auto">
            {list.filter((w) => `${w.node} ${stateOf(w)}`.toLowerCase().includes(typed.trim().toLowerCase())).map((w) => (
              <li key={w.node}>
                <button
                  type="button"
                  aria-current={w === current}
                  onClick={() => go(w)}
                  className={clsx("flex w-full flex-wrap items-center gap-x-2 border-b border-line px-3 py-2 text-left outline-offset-[-2px]", w === current ? "bg-accent-soft" : "hover:bg-sunken")}
                >
                  <span className="min-w-0 grow truncate font-medium">{w.node}</span>
                  <StateLabel state={stateOf(w)} />
                </button>
              </li>
            ))}
          </ul>
        </div>
      ) : (
        <div className="border-b border-line p-2">
          <Field label="Node" hidden>
            {(ids) => <Select {...ids} value={current?.node ?? ""} onChange={(e) => go(list.find((w) => w.node === e.target.value))} options={list.map((w) => [w.node, `${w.node}: ${stateOf(w)}`] as const)} />}
          </Field>
        </div>
      )}
      {current && <WorkReview key={current.node} run={run} work={current} move={(by) => go(list[(at + by + list.length) % list.length])} decidedNow={decidedNow} />}
    </div>
  );
}
