import { Link } from "react-router";

import type { Api } from "@/api/client";
import { visible } from "@/changes/visible";
import { Part } from "@/needs/pieces";
import { count } from "@/ui/figures";

/** What the fence of a node refused to write, and the line of the configuration that allows it. */
export function Fenced({ writes }: { writes: readonly Api<"Fenced">[] }) {
  const several = new Set(writes.map((w) => w.attempt)).size > 1;
  return (
    writes.length > 0 && (
      <Part
        title={`The fence refused ${count(writes.length, "write")}`}
        actions={
          writes.some((w) => w.allow !== undefined) && (
            <Link to="/config/agents" className="text-accent underline">
              Edit the graph
            </Link>
          )
        }
      >
        <ul className="flex flex-col gap-1.5">
          {writes.map((w) => (
            <li key={`${w.attempt} ${w.path}`} className="wrap-anywhere">
              <code className="text-bad">{visible(w.path)}</code>
              {several && <span className="text-muted">{` in attempt ${w.attempt}`}</span>}
              <p className="text-muted">
                {w.allow === undefined ? (
                  "No setting allows this write."
                ) : (
                  <>
                    To allow it: <code className="text-text">{visible(w.allow)}</code>
                  </>
                )}
              </p>
            </li>
          ))}
        </ul>
      </Part>
    )
  );
}
