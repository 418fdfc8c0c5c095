import { keepPreviousData } from "@tanstack/react-query";
import { Suspense, useState } from "react";

import { hooks, type Api } from "@/api/client";
import { FaultList } from "@/editor/FaultList";
import { FileConflict, FileOrders } from "@/editor/FileOrders";
import { useFile } from "@/editor/useFile";
import { lazily } from "@/ui/lazily";
import { Panel } from "@/ui/page";
import { Answer, Loading } from "@/ui/states";
import { useLater } from "@/ui/useLater";

const YamlEditor = lazily(() => import("@/editor/YamlEditor"));

const place = "cmux-config-draft";

/** The file of the organization's configuration in an editor. Saving it applies nothing. */
export function ConfigFile() {
  const file = hooks.useQuery("get", "/api/config/file", {}, { refetchOnMount: "always" });
  return file.data === undefined ? (
    <Panel title="Configuration file">
      <div className="min-h-92">
        <Answer query={file}>{() => null}</Answer>
      </div>
    </Panel>
  ) : (
    <Editor file={file.data} />
  );
}

function Editor({ file: onDisk }: { file: Api<"ConfigText"> }) {
  const file = useFile("/api/config/file", onDisk, { place });
  const { draft, edited, conflict, setText } = file;
  const [goTo, setGoTo] = useState<{ line: number; column: number }>();
  const late = useLater(draft.text, 250);
  const schema = hooks.useQuery("get", "/api/config/schema");
  const check = hooks.useQuery("post", "/api/config/check", { body: { text: late } }, { placeholderData: keepPreviousData, gcTime: 10_000 });
  const faults = check.data?.faults ?? none;
  return (
    <Panel title="Configuration file" actions={<FileOrders file={file} wrong={late === draft.text && faults.length > 0} />}>
      <div className="flex flex-col gap-2">
        <p className="text-muted wrap-anywhere" role="status">
          <code>{draft.base.file}</code>
          {!draft.disk.there ? ", not written yet" : edited ? ", not saved" : conflict ? ", not what the file says" : ", saved"}
        </p>
        <div className="rounded-md border border-line">
          <FileConflict file={file} />
          <FaultList faults={faults} warnings={none} fine={check.data === undefined ? "Not checked yet" : "Nothing is wrong"} goTo={(line, column) => setGoTo({ line, column })} />
          <div className="h-72 min-h-32 resize-y overflow-hidden">
            <Suspense fallback={<Loading />}>
              <YamlEditor label={`Text of ${draft.base.file}`} text={draft.text} onChange={setText} faults={faults} warnings={none} file={draft.base.file} schema={schema.data} goTo={goTo} />
            </Suspense>
          </div>
        </div>
      </div>
    </Panel>
  );
}

const none: readonly Api<"ConfigFault">[] = [];
