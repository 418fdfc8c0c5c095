import { Link, useSearchParams } from "react-router";

import { hooks, type Api } from "@/api/client";
import { labelText } from "@/node/words";
import { counted, difference, duration, took } from "@/runs/figures";
import { count, tokens } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Page } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";
import { exact, useNow } from "@/ui/time";

/** Two runs beside each other, node by node. */
export default function ComparePage() {
  const [params] = useSearchParams();
  const [a, b] = [params.get("a") ?? "", params.get("b") ?? ""];
  const compared = hooks.useQuery("get", "/api/runs/compare", { params: { query: { a, b } } }, { enabled: a !== "" && b !== "" });
  return (
    <Page title="Comparison of two runs">
      {a === "" || b === "" ? (
        <Empty title="Choose two runs">
          Tick two of <Link to="/runs" className="text-accent underline">the runs</Link>.
        </Empty>
      ) : (
        <Answer query={compared}>{(c) => <Table compared={c} />}</Answer>
      )}
    </Page>
  );
}

type Figure = Api<"NodeFigure">;

function Table({ compared: { a, b, nodes } }: { compared: Api<"Compared"> }) {
  const now = useNow();
  return (
    <div className="overflow-auto p-3" tabIndex={0} role="group" aria-label="Comparison">
      <table className="border-collapse text-left">
        <thead>
          <tr className="border-b border-line-strong">
            <th scope="col" className="p-2">Node</th>
            {[a, b].map((r) => (
              <th key={r.id} scope="col" className="p-2">
                <Link to={`/runs/${r.id}`} title={r.id} className="text-accent hover:underline">
                  {r.session}
                </Link>
                {r.started_at !== null && <span className="block text-sm font-normal whitespace-nowrap text-muted">{`started ${exact(r.started_at)}`}</span>}
              </th>
            ))}
            <th scope="col" className="p-2">Time</th>
            <th scope="col" className="p-2">Tokens</th>
            <th scope="col" className="p-2">Changes of its configuration</th>
          </tr>
        </thead>
        <tbody>
          <tr className="border-b border-line bg-sunken align-top">
            <th scope="row" className="p-2">The whole run</th>
            {[a, b].map((r) => (
              <td key={r.id} className="p-2">
                <Label>{r.state}</Label> {r.done} of {r.nodes} done, {duration(took(r, now) ?? 0)}, {tokens(counted(r.used))} tokens
              </td>
            ))}
            <td className="p-2">{difference(took(a, now) ?? 0, took(b, now) ?? 0, duration)}</td>
            <td className="p-2">{difference(counted(a.used), counted(b.used), tokens)}</td>
            <td className="p-2" />
          </tr>
          {nodes.map((n) => (
            <tr key={n.name} className="border-b border-line align-top">
              <th scope="row" className="p-2 font-medium wrap-anywhere">{n.name}</th>
              <td className="p-2"><FigureOf figure={n.a} /></td>
              <td className="p-2"><FigureOf figure={n.b} /></td>
              <td className="p-2 whitespace-nowrap">{n.a && n.b ? difference(n.a.seconds, n.b.seconds, duration) : ""}</td>
              <td className="p-2 whitespace-nowrap">{n.a && n.b ? difference(counted(n.a.used), counted(n.b.used), tokens) : ""}</td>
              <td className="p-2 wrap-anywhere">{n.changed}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function FigureOf({ figure }: { figure: Figure | null }) {
  if (figure === null) {
    return <span className="text-muted">not in this run</span>;
  }
  return (
    <span className="flex flex-wrap items-center gap-x-2">
      <Label>{labelText(figure.label)}</Label>
      <span className="text-muted">
        {figure.attempts > 0 && `${duration(figure.seconds)}${figure.attempts > 1 ? ` in ${count(figure.attempts, "attempt")}` : ""}`}
        {counted(figure.used) > 0 && `, ${tokens(counted(figure.used))} tokens`}
        {figure.diffstat !== "" && `, ${figure.diffstat}`}
      </span>
    </span>
  );
}
