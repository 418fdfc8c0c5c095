import { ArrowDown, ArrowUp } from "lucide-react";
import { useMemo, useState } from "react";

import { visible } from "@/changes/visible";
import type { AgentSource } from "@/conversation/source";
import { find, type Line } from "@/log/lines";
import { useLogText } from "@/log/source";
import { IconButton } from "@/ui/button";
import { Field, Input } from "@/ui/field";
import { count } from "@/ui/figures";
import { VirtualList } from "@/ui/list";
import { Empty, Failed, Loading } from "@/ui/states";

interface LogViewProps {
  source: AgentSource;
  live: boolean; // it is still written
}

/** What a program wrote, as text: the end first, what comes is followed, and what is loaded can be searched. */
export function LogView({ source, live }: LogViewProps) {
  const { log, error, more } = useLogText(source, live);
  const [wanted, setWanted] = useState("");
  const [at, setAt] = useState(0);
  const lines = log?.lines;
  const found = useMemo(() => find(lines ?? [], wanted), [lines, wanted]);
  if (!log) {
    return error === undefined ? <Loading /> : <Failed error={error} />;
  }
  if (log.lines.length === 0) {
    return <Empty title="Nothing was written yet">The output of the agent's program appears here.</Empty>;
  }
  const current = found.length === 0 ? undefined : found[((at % found.length) + found.length) % found.length];
  return (
    <div className="flex h-full min-h-0 grow flex-col">
      <form
        role="search"
        className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-1.5"
        onSubmit={(e) => {
          e.preventDefault();
          setAt(at - 1);
        }}
      >
        <div className="wide-56">
          <Field label="Search the log" hidden>
            {(ids) => (
              <Input
                {...ids}
                type="search"
                placeholder="Search"
                value={wanted}
                onChange={(e) => {
                  setWanted(e.target.value);
                  setAt(-1); // the newest first
                }}
              />
            )}
          </Field>
        </div>
        <IconButton label="The one before" type="submit" disabled={found.length === 0}>
          <ArrowUp size={16} />
        </IconButton>
        <IconButton label="The next one" disabled={found.length === 0} onClick={() => setAt(at + 1)}>
          <ArrowDown size={16} />
        </IconButton>
        <p role="status" className="grow text-muted">
          {wanted === "" ? count(log.lines.length, "line") : `${count(found.length, "line")} found${more ? " in what is loaded" : ""}`}
        </p>
        {live && <span className="text-muted">follows</span>}
      </form>
      <div className="min-h-0 grow">
        <VirtualList
          label="Log"
          items={log.lines}
          keyOf={(l) => l.n}
          estimate={20}
          follow
          more={more}
          show={current}
          row={(l, i) => <LogLine line={l} wanted={wanted} current={i === current} />}
        />
      </div>
    </div>
  );
}

function LogLine({ line, wanted, current }: { line: Line; wanted: string; current: boolean }) {
  const text = visible(line.text);
  const at = wanted === "" ? -1 : text.toLowerCase().indexOf(wanted.toLowerCase());
  return (
    <div className={`min-h-5 px-3 font-mono text-code whitespace-pre-wrap wrap-anywhere ${current ? "bg-accent-soft" : ""}`}>
      {at < 0 ? (
        text
      ) : (
        <>
          {text.slice(0, at)}
          <mark className="bg-warn-soft text-warn">{text.slice(at, at + wanted.length)}</mark>
          {text.slice(at + wanted.length)}
        </>
      )}
    </div>
  );
}
