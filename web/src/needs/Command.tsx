import { Link } from "react-router";

import { hooks } from "@/api/client";
import { visible } from "@/changes/visible";
import { graphAt } from "@/editor/draft";
import { Part } from "@/needs/pieces";

/** What a command node runs, and the way to its place in the graph. */
export function Command({ run, node }: { run: string; node: string }) {
  const { data } = hooks.useQuery("get", "/api/runs/{id}/nodes/{node}/prompt", { params: { path: { id: run, node }, query: { attempt: 0 } } });
  return (
    data && (
      <Part
        title="What it runs"
        actions={
          <Link to={graphAt(node)} className="text-accent underline">
            Edit its command
          </Link>
        }
      >
        <pre tabIndex={0} role="group" aria-label={`What ${node} runs`} className="max-h-96 overflow-auto rounded bg-sunken p-2 whitespace-pre-wrap wrap-anywhere">
          {visible(data.task)}
        </pre>
      </Part>
    )
  );
}
