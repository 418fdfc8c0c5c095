import { useState } from "react";

import { hooks } from "@/api/client";
import { isMarkdown } from "@/explorer/tree";
import { bytes } from "@/ui/figures";
import { Markdown } from "@/ui/markdown";
import { Answer, Empty } from "@/ui/states";
import { Ago } from "@/ui/time";

/** A file of the project as text, or as markdown where it is that. */
export function FileViewer({ path }: { path: string }) {
  const file = hooks.useQuery("get", "/api/filesystem/file", { params: { query: { path } } }, { staleTime: 2000 });
  const [plain, setPlain] = useState(false);
  return (
    <Answer query={file}>
      {(f) => (
        <div className="flex h-full min-h-0 flex-col">
          <p className="flex shrink-0 flex-wrap items-center gap-x-3 border-b border-line px-3 py-1 text-muted">
            <strong className="text-text wrap-anywhere">{f.path}</strong>
            <span>{bytes(f.size)}</span>
            <span>
              changed <Ago at={f.modified_at} /> ago
            </span>
            {f.cut && <span className="text-warn">only its first MB</span>}
            {isMarkdown(f.path) && (
              <label className="ml-auto flex items-center gap-2">
                <input type="checkbox" checked={plain} onChange={(e) => setPlain(e.target.checked)} />
                As text
              </label>
            )}
          </p>
          {f.binary ? (
            <Empty title="This file is binary" />
          ) : f.text === "" ? (
            <Empty title="This file is empty" />
          ) : isMarkdown(f.path) && !plain ? (
            <div tabIndex={0} className="min-h-0 grow overflow-auto p-4">
              <Markdown>{f.text}</Markdown>
            </div>
          ) : (
            <pre tabIndex={0} aria-label={f.path} className="min-h-0 grow overflow-auto p-3">
              {f.text}
            </pre>
          )}
        </div>
      )}
    </Answer>
  );
}
