import { hooks } from "@/api/client";
import { count } from "@/ui/figures";
import { Markdown } from "@/ui/markdown";
import { Answer, Empty } from "@/ui/states";

/** MEMORY.md, which every agent reads. */
export function MemoryViewer() {
  const memory = hooks.useQuery("get", "/api/memory", {}, { staleTime: 2000 });
  return (
    <Answer query={memory}>
      {(m) =>
        !m.there || m.text === "" ? (
          <Empty title="MEMORY.md is empty">What every agent should know belongs there.</Empty>
        ) : (
          <div tabIndex={0} className="h-full min-h-0 overflow-auto p-4">
            <p className="text-muted">
              MEMORY.md, {count(m.lines, "line")} of {m.most}
            </p>
            {m.warning !== "" && <p className="text-warn wrap-anywhere">{m.warning}</p>}
            <Markdown>{m.text}</Markdown>
          </div>
        )
      }
    </Answer>
  );
}
