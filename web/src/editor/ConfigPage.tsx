import { useQueryClient, keepPreviousData } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { useSearchParams } from "react-router";

import { hooks, type Api } from "@/api/client";
import { AddNode } from "@/editor/AddNode";
import { lineOf, namesIn } from "@/editor/draft";
import { FileConflict, FileOrders } from "@/editor/FileOrders";
import { Preview } from "@/editor/Preview";
import { useFile } from "@/editor/useFile";
import { lazily } from "@/ui/lazily";
import { useLater } from "@/ui/useLater";
import { StartButton } from "@/runs/StartDialog";
import { UpdateButton } from "@/runs/UpdateDialog";
import { Begin } from "@/onboarding/Begin";
import { Page } from "@/ui/page";
import { Answer, Loading } from "@/ui/states";

const YamlEditor = lazily(() => import("@/editor/YamlEditor"));

const place = "cmux-agents-draft";

/** The configuration of agents: its text, what it makes, and the way to a run. */
export default function ConfigPage() {
  const file = hooks.useQuery("get", "/api/graph", {}, { refetchOnMount: "always" });
  return file.data === undefined ? (
    <Page title="Graph">
      <Answer query={file}>{() => null}</Answer>
    </Page>
  ) : (
    <Editor file={file.data} />
  );
}

function Editor({ file: onDisk }: { file: Api<"ConfigText"> }) {
  const client = useQueryClient();
  const file = useFile("/api/graph", onDisk, {
    place,
    onSaved: () => client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] === "get" && queryKey[1] === "/api/runs/{id}/graph" }),
  });
  const { draft, edited, conflict, setText } = file;
  const { text } = draft;
  const [params, setParams] = useSearchParams();
  // Nothing is written, or another graph is wanted. A person who has begun may empty the text.
  const [begun, setBegun] = useState(text !== "");
  const begin = params.get("begin");
  const begins = begin === "hand" ? text === "" && !begun : begin !== null || (!draft.disk.there && text === "" && !begun);
  const [goTo, setGoTo] = useState(() => {
    const line = lineOf(text, params.get("node") ?? "");
    return line === undefined ? undefined : { line, column: 1 };
  });
  const late = useLater(text, 250);
  const schema = hooks.useQuery("get", "/api/graph/schema");
  const check = hooks.useQuery("post", "/api/graph/check", { body: { text: late } }, { placeholderData: keepPreviousData, gcTime: 10_000 });
  const sound = check.data !== undefined && check.data.faults.length === 0;
  const runs = hooks.useQuery("get", "/api/runs", { params: { query: { limit: 1000 } } });
  const session = check.data?.session;
  const run = session === undefined ? undefined : runs.data?.items.find((r) => r.session === session)?.id; // the newest, which an update would change
  return (
    <Page
      title="Graph"
      about={
        <span className="wrap-anywhere" role="status">
          <code>{draft.base.file}</code>
          {begins && !draft.disk.there ? ", not written yet" : edited ? ", not saved" : conflict ? ", not what the file says" : ", saved"}
        </span>
      }
      actions={
        begins ? undefined : (
          <>
            <AddNode text={text} onText={setText} names={sound ? check.data.nodes.map((n) => n.name) : namesIn(text)} />
            <FileOrders file={file} />
            {run !== undefined && <UpdateButton run={run} disabled={edited || conflict || !sound} accent={!edited} />}
            <StartButton disabled={edited || conflict || !sound} accent={run === undefined} />
          </>
        )
      }
      ready={begins || !(check.isPending || runs.isPending)}
    >
      <FileConflict file={file} />
      {begins ? (
        <Begin
          onText={(t) => {
            setText(t);
            setBegun(true);
            setParams({}, { replace: true });
          }}
        />
      ) : (
        <div className="grid min-h-0 grow grid-rows-[minmax(16rem,1fr)_minmax(16rem,1fr)] lg:grid-cols-2 lg:grid-rows-1">
          <div className="min-h-0 min-w-0 border-line max-lg:border-b lg:border-r">
            <Suspense fallback={<Loading />}>
              <YamlEditor
                label={`Text of ${draft.base.file}`}
                text={text}
                onChange={setText}
                faults={check.data?.faults ?? none}
                warnings={check.data?.warnings ?? none}
                file={draft.base.file}
                schema={schema.data}
                goTo={goTo}
              />
            </Suspense>
          </div>
          <div className="flex min-h-0 min-w-0 flex-col">
            <Answer query={check}>{(c) => <Preview check={c} text={late} goTo={(line, column) => setGoTo({ line, column })} />}</Answer>
          </div>
        </div>
      )}
    </Page>
  );
}

const none: readonly Api<"ConfigFault">[] = [];
