import { useState } from "react";

import { api, hooks, type Api } from "@/api/client";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { bytes, count } from "@/ui/figures";
import { Answer, Empty } from "@/ui/states";
import { Ago } from "@/ui/time";
import { useQuery } from "@tanstack/react-query";

/** Agents that were removed, with what is kept of them. */
export function Archives() {
  const archives = hooks.useInfiniteQuery("get", "/api/archives", {}, { pageParamName: "cursor", initialPageParam: "", getNextPageParam: (page) => page.next });
  const [seen, see] = useState<Api<"Archived">>();
  return (
    <Answer query={archives}>
      {({ pages }) => {
        const items = pages.flatMap((p) => p.items);
        return items.length === 0 ? (
          <Empty title="No agent was removed">What an agent leaves is kept and listed here.</Empty>
        ) : (
          <>
            <ul className="flex flex-col gap-2 p-4">
              {items.map((r) => (
                <li key={r.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-lg border border-line bg-surface p-3">
                  <strong className="wrap-anywhere">{r.name}</strong>
                  <span className="text-muted">
                    {r.member.role}, removed by {r.by} <Ago at={r.at} /> ago
                  </span>
                  {r.why !== undefined && r.why !== "" && <span className="wrap-anywhere">{r.why}</span>}
                  {r.restore !== undefined && r.restore !== "" && (
                    <span className="wrap-anywhere">
                      Restore with <code>{r.restore}</code>
                    </span>
                  )}
                  <Button className="ml-auto" onClick={() => see(r)}>
                    Files
                  </Button>
                </li>
              ))}
              {archives.hasNextPage && (
                <Button busy={archives.isFetchingNextPage} onClick={() => void archives.fetchNextPage()}>
                  Older
                </Button>
              )}
            </ul>
            {seen && (
              <Dialog title={`What is kept of ${seen.name}`} open onOpenChange={() => see(undefined)} wide>
                <Files archive={seen.id} />
              </Dialog>
            )}
          </>
        );
      }}
    </Answer>
  );
}

function Files({ archive }: { archive: string }) {
  const files = hooks.useQuery("get", "/api/archives/{archive}/files", { params: { path: { archive }, query: { limit: 1000 } } });
  const [path, open] = useState<string>();
  return (
    <Answer query={files}>
      {({ items }) => (
        <div className="flex flex-col gap-3">
          <p className="text-muted">{count(items.length, "file")}</p>
          <ul className="flex flex-col">
            {items.map((f) => (
              <li key={f.path}>
                <button type="button" className="w-full rounded px-2 py-1 text-left wrap-anywhere hover:bg-sunken" aria-expanded={path === f.path} onClick={() => open(path === f.path ? undefined : f.path)}>
                  {f.path} <span className="text-muted">{bytes(f.size)}</span>
                </button>
                {path === f.path && <Kept archive={archive} path={f.path} />}
              </li>
            ))}
          </ul>
        </div>
      )}
    </Answer>
  );
}

function Kept({ archive, path }: { archive: string; path: string }) {
  const file = useQuery({
    queryKey: ["archive", archive, path],
    queryFn: async () => (await api.GET("/api/archives/{archive}/file", { params: { path: { archive }, query: { path } } })).data,
  });
  return (
    <Answer query={file}>
      {(f) =>
        f && (f.binary ? <p className="p-2 text-muted">This file is binary.</p> : <pre tabIndex={0} className="max-h-96 overflow-auto rounded bg-sunken p-2 whitespace-pre-wrap wrap-anywhere">{f.text}</pre>)
      }
    </Answer>
  );
}
