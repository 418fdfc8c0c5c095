import { Bot, CircleAlert, CircleCheck, CircleHelp, ClipboardList, GitMerge, GitPullRequest, Hourglass, Mail, MessagesSquare, Siren, Workflow, type LucideIcon } from "lucide-react";
import { memo } from "react";
import { Link } from "react-router";

import type { Api } from "@/api/client";
import { Ago } from "@/ui/time";

type Need = Api<"Need">;

const icons: Readonly<Record<string, readonly [LucideIcon, string]>> = {
  Question: [CircleHelp, "text-warn"],
  Permission: [CircleHelp, "text-warn"],
  Dialog: [CircleHelp, "text-warn"],
  "No report": [Bot, "text-warn"],
  Gate: [CircleCheck, "text-warn"],
  Failure: [CircleAlert, "text-bad"],
  Conflict: [CircleAlert, "text-bad"],
  Limit: [Hourglass, "text-muted"],
  Review: [GitPullRequest, "text-info"],
  Run: [Workflow, "text-bad"],
  Agent: [Bot, "text-warn"],
  Task: [ClipboardList, "text-bad"],
  Merge: [GitMerge, "text-info"],
  Room: [MessagesSquare, "text-warn"],
  Incident: [Siren, "text-bad"],
  Message: [Mail, "text-info"],
};

interface RowProps {
  need: Need;
  to: string;
  current: boolean;
  chosen: boolean;
  choose: (id: string) => void;
  pick: (id: string) => void; // the person opens it
}

/** A need in the list. It is drawn again when it is another, not with every answer. */
export const NeedRow = memo(function NeedRow({ need, to, current, chosen, choose, pick }: RowProps) {
  const kind = need.called;
  const [Icon, color] = icons[kind] ?? [CircleHelp, "text-muted"];
  const title = need.title;
  const line = need.text !== "" && need.text !== title ? need.text : need.label;
  return (
    <li className={`flex items-start border-b border-line ${current ? "bg-accent-soft" : chosen ? "bg-sunken" : "hover:bg-sunken"}`}>
      <label className="flex min-h-11 items-start py-3 pl-3" title="Choose (x)">
        <input type="checkbox" checked={chosen} onChange={() => choose(need.id)} aria-label={`Choose ${kind} ${title}`} />
      </label>
      <Link to={to} onClick={() => pick(need.id)} data-need={need.id} aria-current={current ? "true" : undefined} aria-label={`${kind} ${title}${need.session === undefined ? "" : `, run ${need.session}`}`} className="flex min-w-0 grow gap-2 px-2 py-2 outline-offset-[-2px]">
        <Icon aria-hidden size={16} className={`mt-0.5 shrink-0 ${color}`} />
        <span className="min-w-0 grow">
          <span className="flex items-baseline gap-2">
            <span className="min-w-0 grow truncate font-medium">{title}</span>
            {need.since !== undefined && <Ago at={need.since} className="shrink-0 text-muted tabular-nums" />}
          </span>
          <span className="flex items-baseline gap-2 text-sm text-muted">
            <span className="shrink-0">{kind}</span>
            <span className="min-w-0 grow truncate">{line}</span>
            {need.session !== undefined && <span className="max-w-24 shrink-0 truncate">{need.session}</span>}
          </span>
        </span>
      </Link>
    </li>
  );
});
