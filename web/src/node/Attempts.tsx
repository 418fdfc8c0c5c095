import type { Api } from "@/api/client";
import { Label } from "@/ui/label";
import { Markdown } from "@/ui/markdown";
import { Empty } from "@/ui/states";
import { Ago } from "@/ui/time";

/** The attempts of a node, the newest first. */
export function Attempts({ attempts }: { attempts: readonly Api<"Try">[] }) {
  if (attempts.length === 0) {
    return <Empty title="It has not begun">Its attempts appear here.</Empty>;
  }
  return (
    <ol className="flex flex-col gap-2 p-3">
      {attempts.toReversed().map((a) => (
        <li key={a.n} className="rounded-lg border border-line bg-surface p-3">
          <p className="flex flex-wrap items-center gap-x-3">
            <strong>{`Attempt ${a.n}`}</strong>
            <Label>{a.how}</Label>
            <span className="text-muted">
              began <Ago at={a.started} />
              {" ago"}
              {a.ended !== undefined && (
                <>
                  {", ended "}
                  <Ago at={a.ended} />
                  {" ago"}
                </>
              )}
            </span>
            {a.commits !== undefined && a.commits > 0 && <span>{`${a.commits} commit${a.commits === 1 ? "" : "s"}`}</span>}
            {a.diffstat !== undefined && <span className="text-muted">{a.diffstat}</span>}
          </p>
          {a.detail !== undefined && a.detail !== "" && <p className="mt-1 wrap-anywhere">{a.detail}</p>}
          {a.summary !== undefined && a.summary !== "" && <Markdown>{a.summary}</Markdown>}
          {a.saved !== undefined && a.saved !== "" && (
            <p className="mt-1 text-muted">
              Saved as <code className="wrap-anywhere">{a.saved}</code>
            </p>
          )}
        </li>
      ))}
    </ol>
  );
}
