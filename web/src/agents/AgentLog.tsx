import { hooks } from "@/api/client";
import { Button } from "@/ui/button";
import { bytes } from "@/ui/figures";
import { Answer, Empty } from "@/ui/states";

/** The end of what an agent's program printed, as text. */
export function AgentLog({ name }: { name: string }) {
  const log = hooks.useQuery("get", "/api/agents/{name}/log/part", { params: { path: { name }, query: { from: -1 } } });
  return (
    <Answer query={log}>
      {(part) =>
        part.text === "" ? (
          <Empty title="Its log is empty" />
        ) : (
          <div className="flex min-h-0 grow flex-col">
            <p className="flex items-center gap-3 px-4 py-1 text-muted">
              <span>
                The last {bytes(part.size - part.from)} of {bytes(part.size)}
              </span>
              <Button tone="quiet" busy={log.isFetching} onClick={() => void log.refetch()}>
                Load again
              </Button>
            </p>
            <pre tabIndex={0} aria-label={`Log of ${name}`} className="min-h-0 grow overflow-auto bg-sunken p-3 whitespace-pre-wrap wrap-anywhere">
              {part.text}
            </pre>
          </div>
        )
      }
    </Answer>
  );
}
