import { keepPreviousData, useQueryClient } from "@tanstack/react-query";
import { Play, RotateCcw } from "lucide-react";
import { Suspense, useMemo, useState } from "react";
import { Link } from "react-router";

import { api, hooks, type Api } from "@/api/client";
import { FileConflict, FileOrders } from "@/editor/FileOrders";
import { Preview } from "@/editor/Preview";
import { useFile } from "@/editor/useFile";
import { give } from "@/rooms/rooms";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";
import { count } from "@/ui/figures";
import { lazily } from "@/ui/lazily";
import { Answer, Loading } from "@/ui/states";
import { useOrder } from "@/ui/toasts";
import { useLater } from "@/ui/useLater";

const YamlEditor = lazily(() => import("@/editor/YamlEditor"));

type Plan = Api<"PlanView">;

/** The plan of a room: the graph of its cards, which a person may edit and start. */
export function PlanPane({ room }: { room: string }) {
  const plan = hooks.useQuery("get", "/api/rooms/{room}/plan", { params: { path: { room } } }, { refetchOnMount: "always" });
  return <Answer query={plan}>{(p) => (p.there ? <Editor key={room} plan={p} /> : <None plan={p} />)}</Answer>;
}

/** An order about the plan of a room, whose answer is the plan. */
function usePlanOrder(room: string, give: (room: string) => Promise<{ data?: Plan | undefined }>, done?: (plan: Plan) => string) {
  const client = useQueryClient();
  const order = useOrder(
    async () => {
      const { data } = await give(room);
      if (data) {
        const queryKey = ["get", "/api/rooms/{room}/plan", { params: { path: { room } } }];
        await client.cancelQueries({ queryKey, exact: true }); // it may have read the plan before this
        client.setQueryData(queryKey, data);
      }
      return data;
    },
    done && ((plan) => (plan ? done(plan) : "")),
  );
  return { busy: order.isPending, order: () => order.mutate() };
}

function None({ plan }: { plan: Plan }) {
  const { busy, order } = usePlanOrder(plan.room, give.plan);
  return (
    <div className="flex flex-col items-start gap-3 overflow-auto p-4">
      <p>There is no plan. A plan is a graph of the cards that are decided and not started: each becomes a node, and its reviewer another one.</p>
      <Cards all={plan.left} empty="" />
      <Button tone="accent" busy={busy} onClick={order}>
        Make the plan
      </Button>
    </div>
  );
}

/** Cards, and what there is to know about each. */
function Cards({ all, empty }: { all: readonly Api<"CardLeft">[]; empty: string }) {
  if (all.length === 0) {
    return empty === "" ? null : <p className="text-muted">{empty}</p>;
  }
  return (
    <ul aria-label="Cards to know about" className="flex flex-col gap-1">
      {all.map((l) => (
        <li key={`${l.card} ${l.why}`} className="wrap-anywhere">
          <strong>{l.card}</strong>
          {`: ${l.why}`}
          {l.try !== "" && (
            <>
              {" "}
              <code className="text-muted">{l.try}</code>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

function Editor({ plan }: { plan: Plan }) {
  const { room } = plan;
  const at = useMemo(() => {
    const params = { path: { room } };
    return {
      queryKey: ["get", "/api/rooms/{room}/plan", { params }],
      read: async () => (await api.GET("/api/rooms/{room}/plan", { params })).data,
      write: async (body: { text: string; sum: string }) => (await api.PUT("/api/rooms/{room}/plan", { params, body })).data,
    };
  }, [room]);
  const file = useFile(at, plan, { place: `cmux-plan-draft-${room}` });
  const { draft, edited, conflict, setText } = file;
  const late = useLater(draft.text, 250);
  const [goTo, setGoTo] = useState<{ line: number; column: number }>();
  const schema = hooks.useQuery("get", "/api/graph/schema");
  const check = hooks.useQuery("post", "/api/rooms/{room}/plan/check", { params: { path: { room } }, body: { text: late } }, { placeholderData: keepPreviousData, gcTime: 10_000 });
  const sound = check.data?.faults.length === 0;
  return (
    <>
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-1.5">
        <span className="grow wrap-anywhere" role="status">
          <code>{draft.base.file}</code>
          {edited ? ", not saved" : conflict ? ", not what the file says" : plan.edited ? ", edited" : ", as the cards say"}
        </span>
        <Make plan={plan} disabled={edited} />
        <FileOrders file={file} />
        <Start plan={plan} disabled={edited || conflict || !sound} />
      </div>
      <FileConflict file={file} />
      <div className="max-h-32 shrink-0 overflow-auto px-3 py-1.5 empty:hidden">
        <Runs plan={plan} />
        <Cards all={[...plan.notes, ...plan.left]} empty="" />
      </div>
      <div className="grid min-h-0 grow grid-rows-[minmax(14rem,1fr)_minmax(10rem,1fr)]">
        <div className="flex min-h-0 min-w-0 flex-col border-y border-line">
          <Answer query={check}>{(c) => <Preview check={c} text={late} goTo={(line, column) => setGoTo({ line, column })} />}</Answer>
        </div>
        <div className="min-h-0 min-w-0">
          <Suspense fallback={<Loading />}>
            <YamlEditor label={`Text of ${draft.base.file}`} text={draft.text} onChange={setText} faults={check.data?.faults ?? none} warnings={check.data?.warnings ?? none} file={draft.base.file} schema={schema.data} goTo={goTo} />
          </Suspense>
        </div>
      </div>
    </>
  );
}

const none: readonly Api<"ConfigFault">[] = [];

function Runs({ plan: { run } }: { plan: Plan }) {
  return (
    run && (
      <p>
        <Link to={`/runs/${run.id}`} className="text-accent underline">
          {`Run ${run.id}`}
        </Link>
        {` is ${run.state}.`}
      </p>
    )
  );
}

/** Makes the plan again. What was edited is kept aside. */
function Make({ plan, disabled }: { plan: Plan; disabled: boolean }) {
  const { busy, order } = usePlanOrder(plan.room, give.plan, ({ aside }) => (aside === "" ? "The plan is as the cards say." : `What was edited is kept: ${aside}`));
  return plan.edited ? (
    <Confirm title="Make the plan again?" text="The plan was edited. What it says now is kept beside it, in a file of its own." action="Make it again" disabled={disabled} busy={busy} onConfirm={order}>
      Make again
    </Confirm>
  ) : (
    <Button icon={<RotateCcw aria-hidden size={15} />} disabled={disabled} busy={busy} onClick={order}>
      Make again
    </Button>
  );
}

function Start({ plan, disabled }: { plan: Plan; disabled: boolean }) {
  const { busy, order } = usePlanOrder(plan.room, (room) => give.run(room, plan.sum), ({ run }) => (run ? `Run ${run.id} is ${run.state}.` : "The run is started."));
  const { run } = plan;
  if (run && !run.over && run.state !== "stopped") {
    return null;
  }
  const goesOn = run && !run.over && !run.changed;
  return (
    <Confirm
      title={goesOn ? "Continue the run?" : "Start the run?"}
      text={`${count(plan.nodes.length, "node")} for ${count(plan.cards.length, "card")}: ${plan.cards.map((c) => `${c.id} ${c.title}`).join(", ")}. Each works in a worktree of its own, and the cards follow their nodes.${plan.edited ? " The plan was edited since cmux made it: read it first." : ""}`}
      action={goesOn ? "Continue" : "Start"}
      tone="accent"
      icon={<Play aria-hidden size={15} />}
      disabled={disabled}
      busy={busy}
      onConfirm={order}
    >
      {goesOn ? "Continue run" : "Start run"}
    </Confirm>
  );
}
