import { useQueryClient, keepPreviousData } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";

import { api, hooks, Problem, type Api } from "@/api/client";
import { AddNode } from "@/editor/AddNode";
import { Preview } from "@/editor/Preview";
import { useLater } from "@/editor/useLater";
import { StartButton } from "@/runs/StartDialog";
import { UpdateButton } from "@/runs/UpdateDialog";
import { Button } from "@/ui/button";
import { Page } from "@/ui/page";
import { Answer, Loading } from "@/ui/states";
import { complain, useOrder } from "@/ui/toasts";

const YamlEditor = lazy(() => import("@/editor/YamlEditor"));

const blank = `session: main
agents:
  - name: first
    task: ""
`;

/** The configuration of agents: its text, what it makes, and the way to a run. */
export default function ConfigPage() {
  const file = hooks.useQuery("get", "/api/graph", {}, { refetchOnMount: "always" });
  return file.data === undefined ? (
    <Page title="Configuration of agents">
      <Answer query={file}>{() => null}</Answer>
    </Page>
  ) : (
    <Editor file={file.data} />
  );
}

function Editor({ file }: { file: Api<"GraphText"> }) {
  const client = useQueryClient();
  const [saved, setSaved] = useState(file);
  const [text, setText] = useState(file.there ? file.text : blank);
  const [conflict, setConflict] = useState<Api<"GraphText">>();
  const [goTo, setGoTo] = useState<{ line: number; column: number }>();
  const late = useLater(text, 250);
  const schema = hooks.useQuery("get", "/api/graph/schema");
  const check = hooks.useQuery("post", "/api/graph/check", { body: { text: late } }, { placeholderData: keepPreviousData, gcTime: 10_000 });
  const sound = check.data !== undefined && check.data.faults.length === 0;
  const dirty = text !== saved.text || !saved.there;
  const run = useRunOf(check.data?.session);
  const save = useOrder(async (sum: string) => {
    try {
      const { data } = await api.PUT("/api/graph", { body: { text, sum } });
      if (data) {
        setSaved(data);
        setConflict(undefined);
        client.setQueryData(["get", "/api/graph", {}], data);
        await client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] === "get" && queryKey[1] === "/api/runs/{id}/graph" });
      }
    } catch (e) {
      if (!(e instanceof Problem && e.status === 409)) {
        throw e;
      }
      setConflict((await api.GET("/api/graph")).data);
      complain(e);
    }
  });
  return (
    <Page
      title="Configuration of agents"
      about={
        <span className="wrap-anywhere">
          <code>{saved.file}</code>
          {dirty ? ", not saved" : ", saved"}
        </span>
      }
      actions={
        <>
          <AddNode text={text} onText={setText} names={check.data?.nodes.map((n) => n.name) ?? []} />
          <Button tone={dirty ? "accent" : "plain"} disabled={!dirty} busy={save.isPending} onClick={() => save.mutate(saved.sum)}>
            Save
          </Button>
          {run !== undefined && <UpdateButton run={run} disabled={dirty || !sound} accent={!dirty} />}
          <StartButton disabled={dirty || !sound} />
        </>
      }
    >
      {conflict && (
        <div role="alert" className="flex flex-wrap items-center gap-2 border-b border-line bg-bad-soft px-4 py-2 text-bad">
          <p className="grow">The file has changed since you began. Nothing was written.</p>
          <Button
            onClick={() => {
              setSaved(conflict);
              setText(conflict.text);
              setConflict(undefined);
            }}
          >
            Take the file&apos;s text
          </Button>
          <Button tone="bad" busy={save.isPending} onClick={() => save.mutate(conflict.sum)}>
            Write mine over it
          </Button>
        </div>
      )}
      <div className="grid min-h-0 grow grid-rows-[minmax(16rem,1fr)_minmax(16rem,1fr)] lg:grid-cols-2 lg:grid-rows-1">
        <div className="min-h-0 min-w-0 border-line max-lg:border-b lg:border-r">
          <Suspense fallback={<Loading />}>
            <YamlEditor
              label={`Text of ${saved.file}`}
              text={text}
              onChange={setText}
              faults={check.data?.faults ?? none}
              warnings={check.data?.warnings ?? none}
              file={saved.file}
              schema={schema.data}
              goTo={goTo}
            />
          </Suspense>
        </div>
        <div className="flex min-h-0 min-w-0 flex-col">
          <Answer query={check}>{(c) => <Preview check={c} text={late} goTo={(line, column) => setGoTo({ line, column })} />}</Answer>
        </div>
      </div>
    </Page>
  );
}

const none: readonly Api<"GraphFault">[] = [];

/** The newest run of a session, which an update would change. */
function useRunOf(session: string | undefined): string | undefined {
  const runs = hooks.useQuery("get", "/api/runs", { params: { query: { limit: 1000 } } });
  return session === undefined ? undefined : runs.data?.items.find((r) => r.session === session)?.id;
}
