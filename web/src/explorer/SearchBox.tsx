import { useState } from "react";
import { Link } from "react-router";

import { hooks, type Api } from "@/api/client";
import { notesAt } from "@/memory/notes";
import { Button } from "@/ui/button";
import { Field, Input } from "@/ui/field";
import { Label } from "@/ui/label";
import { Answer, Empty } from "@/ui/states";
import { Ago } from "@/ui/time";

/** Looks for words in journal, messages, tasks and conversations. */
export function SearchBox({ open }: { open: (path: string) => void }) {
  const [typed, type] = useState("");
  const [asked, ask] = useState("");
  return (
    <div className="flex h-full min-h-0 flex-col">
      <form
        role="search"
        className="flex shrink-0 items-end gap-2 p-2"
        onSubmit={(e) => {
          e.preventDefault();
          ask(typed.trim());
        }}
      >
        <div className="grow">
          <Field label="Words" hidden>
            {(ids) => <Input {...ids} type="search" placeholder="Words in journal, notes, messages, tasks" value={typed} onChange={(e) => type(e.target.value)} />}
          </Field>
        </div>
        <Button type="submit">Search</Button>
      </form>
      <div tabIndex={0} role="region" aria-label="Found" className="min-h-0 grow overflow-auto">
        {asked === "" ? <p className="px-3 py-2 text-muted">Words are looked for in the journal, notes of rooms, messages, tasks and conversations.</p> : <Found q={asked} open={open} />}
      </div>
    </div>
  );
}

function Found({ q, open }: { q: string; open: (path: string) => void }) {
  const hits = hooks.useInfiniteQuery(
    "get",
    "/api/search",
    { params: { query: { q, limit: 50 } } },
    { pageParamName: "cursor", initialPageParam: "", getNextPageParam: (p: Api<"ListHit">) => p.next, staleTime: 5000 },
  );
  return (
    <Answer query={hits}>
      {({ pages }) => {
        const items = pages.flatMap((p) => p.items);
        return items.length === 0 ? (
          <Empty title="Nothing has these words" />
        ) : (
          <>
            <ul>
              {items.map((h, i) => {
                const { path } = h;
                return (
                  <li key={i} className="border-b border-line px-3 py-1.5">
                    <p className="flex flex-wrap items-center gap-2 text-muted">
                      <Label tone="muted">{h.source}</Label>
                      {h.kind !== undefined && <span>{h.kind}</span>}
                      {h.at !== undefined && <Ago at={h.at} />}
                      {h.source === "memory" && h.name !== undefined && (
                        <Link to={notesAt(h.name)} className="text-accent underline">
                          {h.name}
                        </Link>
                      )}
                      {path !== undefined && path !== "" && (
                        <button type="button" className="text-left text-accent underline wrap-anywhere" onClick={() => open(path)}>
                          {path}
                          {h.line !== undefined && `:${h.line}`}
                        </button>
                      )}
                    </p>
                    <p className="line-clamp-4 wrap-anywhere">{h.text}</p>
                  </li>
                );
              })}
            </ul>
            {hits.hasNextPage && (
              <Button tone="quiet" busy={hits.isFetchingNextPage} onClick={() => void hits.fetchNextPage()}>
                More
              </Button>
            )}
          </>
        );
      }}
    </Answer>
  );
}
