import { useQueryClient, keepPreviousData } from "@tanstack/react-query";
import { Suspense, useEffect, useRef, useState } from "react";
import { useSearchParams } from "react-router";

import { api, hooks, Problem, type Api } from "@/api/client";
import { AddNode } from "@/editor/AddNode";
import { changed, dirty, keep, look, namesIn, restore, take, wrote, type Draft } from "@/editor/draft";
import { Preview } from "@/editor/Preview";
import { lazily } from "@/ui/lazily";
import { useLater } from "@/ui/useLater";
import { StartButton } from "@/runs/StartDialog";
import { UpdateButton } from "@/runs/UpdateDialog";
import { Begin } from "@/onboarding/Begin";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";
import { Page } from "@/ui/page";
import { Answer, Loading } from "@/ui/states";
import { useOrder } from "@/ui/toasts";

const YamlEditor = lazily(() => import("@/editor/YamlEditor"));

/** Where a text is kept that was not saved, while another page is looked at or this one is loaded again. */
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

function Editor({ file }: { file: Api<"GraphText"> }) {
  const client = useQueryClient();
  const [seen, setSeen] = useState(file);
  const [draft, setDraft] = useState(() => restore(sessionStorage.getItem(place), file));
  if (seen !== file) {
    setSeen(file);
    setDraft(look(draft, file));
  }
  const { text } = draft;
  const setText = (t: string) => setDraft((d) => ({ ...d, text: t }));
  const [params, setParams] = useSearchParams();
  // Nothing is written, or another graph is wanted. A person who has begun may empty the text.
  const [begun, setBegun] = useState(text !== "");
  const begin = params.get("begin");
  const begins = begin === "hand" ? text === "" && !begun : begin !== null || (!draft.disk.there && text === "" && !begun);
  const [goTo, setGoTo] = useState<{ line: number; column: number }>();
  const late = useLater(text, 250);
  const schema = hooks.useQuery("get", "/api/graph/schema");
  const check = hooks.useQuery("post", "/api/graph/check", { body: { text: late } }, { placeholderData: keepPreviousData, gcTime: 10_000 });
  const sound = check.data !== undefined && check.data.faults.length === 0;
  const edited = dirty(draft);
  const conflict = changed(draft);
  const runs = hooks.useQuery("get", "/api/runs", { params: { query: { limit: 1000 } } });
  const session = check.data?.session;
  const run = session === undefined ? undefined : runs.data?.items.find((r) => r.session === session)?.id; // the newest, which an update would change
  const save = useOrder(async (over: boolean) => {
    const sent = draft;
    try {
      const { data } = await api.PUT("/api/graph", { body: { text: sent.text, sum: over ? sent.disk.sum : sent.base.sum } });
      if (data) {
        await client.cancelQueries({ queryKey: ["get", "/api/graph", {}], exact: true }); // it may have read the file before this
        setDraft((d) => wrote(d, data));
        client.setQueryData(["get", "/api/graph", {}], data);
        await client.invalidateQueries({ queryKey: ["get", "/api/graph", {}], exact: true }); // somebody may have written it since
        await client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] === "get" && queryKey[1] === "/api/runs/{id}/graph" });
      }
    } catch (e) {
      if (!(e instanceof Problem && e.status === 409)) {
        throw e;
      }
      // Refused: as the file has changed, which is seen in it, or for what the server says.
      const now = (await api.GET("/api/graph")).data;
      if (!now || now.sum === (over ? sent.disk : sent.base).sum) {
        throw e;
      }
      setDraft((d) => look(d, now));
    }
  });
  useKept(draft, edited);
  // Ctrl+S counts also while a text is being saved, and before what was just typed is drawn.
  const [wished, setWished] = useState(0);
  const served = useRef(0);
  const { isPending: saving, mutate } = save;
  useEffect(() => {
    if (wished !== served.current && !saving) {
      served.current = wished;
      if (edited && !conflict) {
        mutate(false);
      }
    }
  }, [wished, edited, conflict, saving, mutate]);
  useSaveKey(() => setWished((n) => n + 1));
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
            {edited && draft.disk.there && (
              <Confirm title="Discard what you typed?" text="The text of the file is shown again." action="Discard" tone="bad" onConfirm={() => setDraft(take)}>
                Discard
              </Confirm>
            )}
            <Button tone={edited ? "accent" : "plain"} disabled={!edited || conflict} busy={save.isPending} aria-keyshortcuts="Control+S Meta+S" onClick={() => save.mutate(false)}>
              Save
            </Button>
            {run !== undefined && <UpdateButton run={run} disabled={edited || conflict || !sound} accent={!edited} />}
            <StartButton disabled={edited || conflict || !sound} accent={run === undefined} />
          </>
        )
      }
      ready={begins || !(check.isPending || runs.isPending)}
    >
      {conflict && (
        <div role="alert" className="flex flex-wrap items-center gap-2 border-b border-line bg-bad-soft px-4 py-2 text-bad">
          <p className="grow">{draft.disk.there ? "The file says something else by now. Nothing of yours was written over it." : "The file is not there any more."}</p>
          {draft.disk.there && <Button onClick={() => setDraft(take)}>Take the file&apos;s text</Button>}
          <Button tone="bad" busy={save.isPending} onClick={() => save.mutate(true)}>
            {draft.disk.there ? "Write mine over it" : "Write it again"}
          </Button>
        </div>
      )}
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

/** Keeps a text that was not saved, and has the browser ask before it is closed with it. */
function useKept(draft: Draft, edited: boolean): void {
  const kept = keep(draft);
  useEffect(() => {
    if (kept === "") {
      sessionStorage.removeItem(place);
    } else {
      sessionStorage.setItem(place, kept);
    }
  }, [kept]);
  const ask = edited && kept !== "";
  useEffect(() => {
    if (!ask) {
      return;
    }
    const leave = (e: BeforeUnloadEvent) => e.preventDefault();
    window.addEventListener("beforeunload", leave);
    return () => window.removeEventListener("beforeunload", leave);
  }, [ask]);
}

/** Has Ctrl+S call this, and not the browser's own dialog. */
function useSaveKey(save: () => void): void {
  const latest = useRef(save);
  useEffect(() => {
    latest.current = save;
  });
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if ((e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === "s") {
        e.preventDefault();
        latest.current();
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}

const none: readonly Api<"GraphFault">[] = [];
