import { ChevronRight } from "lucide-react";
import { useEffect, useRef } from "react";
import { Link, useNavigate } from "react-router";

import type { Api } from "@/api/client";
import { reviewActions, type Action } from "@/needs/actions";
import { decided } from "@/needs/answers";
import { Key } from "@/needs/HeldBar";
import { undo, useDecide, useHeld } from "@/needs/held";
import { handleKey } from "@/needs/keys";
import { Decisions } from "@/review/Decisions";
import { ReviewView } from "@/review/ReviewView";
import { Button } from "@/ui/button";
import { count } from "@/ui/figures";
import { Label } from "@/ui/label";
import { steadyClass, useSteady } from "@/ui/useSteady";

type Work = Api<"Delivery">;
type State = Work["state"];

const tones = { "to review": "warn", approved: "ok", "changed since it was approved": "warn", dropped: "bad", "sent back": "info", merged: "ok", "nothing to review": "muted" } as const;

export function StateLabel({ state }: { state: State }) {
  return <Label tone={tones[state]}>{state}</Label>;
}

/** The work as the inbox lists it. */
export function needOf(run: string, w: Work): Api<"Need"> {
  return { id: `review ${run} ${w.node} ${w.commit}`, kind: "review", called: "Review", title: w.node, name: w.node, run, label: w.state, text: w.summary, orders: ["review"], ...(w.commit === "" ? {} : { commit: w.commit }) };
}

/** How each work stands: what was decided here counts at once. */
export function useStates(run: string): (w: Work) => State {
  const held = useHeld();
  return (w) => {
    const text = held.findLast((h) => h.needs.some((n) => n.id === needOf(run, w).id))?.text ?? "";
    return text.endsWith(": approved") ? "approved" : text.endsWith(": dropped") ? "dropped" : w.state;
  };
}

interface WorkProps {
  run: string;
  work: Work;
  move?: (by: number) => void; // to another work
  decidedNow?: () => void;
}

/** The work of a node with all that helps to decide about it, and the decision. */
export function WorkReview({ run, work: w, move, decidedNow }: WorkProps) {
  const state = useStates(run)(w);
  const decide = useDecide();
  const navigate = useNavigate();
  const need = needOf(run, w);
  const actions = reviewActions(state);
  const steady = useSteady(`${run} ${w.node} ${state}`);
  const give = (a: Action) => {
    decide([need], decided([need], a.done), a.send);
    decidedNow?.();
  };
  const press = useRef<(e: KeyboardEvent) => void>(undefined);
  useEffect(() => {
    press.current = (e) => {
      const action = actions.find((a) => a.key === e.key);
      handleKey(e, {
        needs: (steady && action !== undefined) || e.key === "c" || e.key === "r" ? [need] : [],
        move: (by) => move?.(by),
        choose: () => undefined,
        clear: () => undefined,
        undo: () => void undo(),
        decide: () => action && give(action),
        terminal: () => void navigate(place(run, w.node)),
      });
    };
  });
  useEffect(() => {
    const listen = (e: KeyboardEvent) => press.current?.(e);
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
  return (
    <article data-case aria-label={w.node} className="flex min-h-0 grow flex-col">
      <header className="flex shrink-0 flex-wrap items-center gap-x-2 gap-y-1.5 border-b border-line px-4 py-2">
        <h2 className="text-base font-semibold wrap-anywhere">
          <Link to={place(run, w.node)} className="text-accent underline">
            {w.node}
          </Link>
        </h2>
        <StateLabel state={state} />
        {w.attempts > 1 && <span className="text-muted">{count(w.attempts, "attempt")}</span>}
        <div className={`flex flex-wrap gap-1.5 ${steadyClass(steady)}`}>
          <Decisions source={{ kind: "node", run, node: w.node }} actions={actions} reads={w.reads} reviewers={w.reviews.map((r) => r.node)} of={w.node} give={give} />
          {move && (
            <Button tone="quiet" icon={<ChevronRight aria-hidden size={15} />} onClick={() => move(1)}>
              Next <Key>j</Key>
            </Button>
          )}
        </div>
      </header>
      <ReviewView run={run} work={w} />
    </article>
  );
}

function place(run: string, node: string): string {
  return `/runs/${encodeURIComponent(run)}/nodes/${encodeURIComponent(node)}`;
}
