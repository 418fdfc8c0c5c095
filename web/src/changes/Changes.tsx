import { useRef, useState } from "react";
import { useSearchParams } from "react-router";

import type { Api } from "@/api/client";
import { useDrafts } from "@/changes/drafts";
import { FileDiff } from "@/changes/FileDiff";
import { FileList, Figures } from "@/changes/FileList";
import { SendComments } from "@/changes/SendComments";
import { useChanges, type WorkSource } from "@/changes/source";
import { visible } from "@/changes/visible";
import { useWide } from "@/changes/wide";
import { Button } from "@/ui/button";
import { Field, Select } from "@/ui/field";
import { count } from "@/ui/figures";
import { Answer, Empty } from "@/ui/states";

interface ChangesProps {
  source: WorkSource;
  comment?: boolean; // comments can be written; on
  send?: boolean; // the button that sends them is here; on
  first?: string | undefined; // the file that is seen until another is chosen; else the first of them
}

/** What a node or a task changed: its files, and each side by side. The file is in the address (`?file=`), and a line that is marked (`&line=`). */
export function Changes({ source, comment = true, send = comment, first }: ChangesProps) {
  const changes = useChanges(source);
  return (
    <Answer query={changes}>
      {(c) => (c.files.length === 0 ? <Empty title="Nothing has changed">Files appear here when the agent changes them.</Empty> : <Files source={source} changes={c} comment={comment} send={send} first={first} />)}
    </Answer>
  );
}

function Files({ source, changes, comment, send, first }: { source: WorkSource; changes: Api<"Changes">; comment: boolean; send: boolean; first: string | undefined }) {
  const box = useRef<HTMLDivElement>(null);
  const wide = useWide(box, 900);
  const [params, setParams] = useSearchParams();
  const [one, setOne] = useState(false); // one column, though there is room for two
  const { files } = changes;
  const file = files.find((f) => f.path === params.get("file")) ?? files.find((f) => f.path === first) ?? files[0];
  const line = file?.path === params.get("file") ? Number(params.get("line") ?? "") : 0; // that somebody was led to
  const drafts = useDrafts(source);
  const choose = (path: string) =>
    setParams(
      (was) => {
        const next = new URLSearchParams(was);
        next.set("file", path);
        next.delete("line");
        return next;
      },
      { replace: true },
    );
  const added = files.reduce((n, f) => n + f.added, 0);
  const deleted = files.reduce((n, f) => n + f.deleted, 0);
  return (
    <div ref={box} className="flex h-full min-h-0 flex-col">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-3 py-1.5">
        <p className="grow text-muted">
          {count(files.length, "file")} <span className="text-ok">+{added}</span> <span className="text-bad">−{deleted}</span>
          {changes.live && " · not all of it is committed"}
          {changes.more > 0 && ` · ${count(changes.more, "more file")} not listed`}
        </p>
        {wide && (
          <Button aria-pressed={one} onClick={() => setOne(!one)}>
            {one ? "Side by side" : "One column"}
          </Button>
        )}
        {send && <SendComments source={source} />}
      </div>
      {!wide && files.length > 1 && (
        <div className="border-b border-line p-2">
          <Field label="File" hidden>
            {(ids) => (
              <Select {...ids} value={file?.path ?? ""} onChange={(e) => choose(e.target.value)} options={files.map((f) => [f.path, `${visible(f.path)}  +${f.added} −${f.deleted}`] as const)} />
            )}
          </Field>
        </div>
      )}
      <div className="flex min-h-0 grow">
        {wide && (
          <div className="wide-72 shrink-0 border-r border-line">
            <FileList files={files} chosen={file?.path} comments={(path) => drafts.filter((d) => d.comment.path === path).length} onChoose={choose} />
          </div>
        )}
        {file && (
          <div className="flex min-w-0 grow flex-col">
            <header className="flex items-baseline gap-2 border-b border-line px-3 py-1">
              <h2 className="min-w-0 grow font-mono text-code font-semibold wrap-anywhere">
                {file.was !== undefined && file.was !== file.path && <span className="font-normal text-muted">{visible(file.was)} → </span>}
                {visible(file.path)}
              </h2>
              <Figures file={file} />
            </header>
            <div className="min-h-0 grow">
              <FileDiff key={file.path} source={source} file={file} unified={!wide || one} comment={comment} line={line > 0 ? line : undefined} />
            </div>
          </div>
        )}
      </div>
    </div>
  );
}
