import type { Api } from "@/api/client";
import { addDraft, changeDraft, commentAt, forgetDrafts, keepTyped, useDrafts, useTyped } from "@/changes/drafts";
import { DiffView } from "@/changes/DiffView";
import { usePair, type WorkSource } from "@/changes/source";
import { visible } from "@/changes/visible";
import { bytes } from "@/ui/figures";
import { Answer, Empty } from "@/ui/states";

interface FileDiffProps {
  source: WorkSource;
  file: Api<"WorktreeFileChange">;
  unified: boolean;
  comment: boolean; // lines can be commented on
  line?: number | undefined; // that is brought into view
}

/** A changed file before and after. What has no lines is told instead. */
export function FileDiff({ source, file, unified, comment, line }: FileDiffProps) {
  const pair = usePair(source, file.path, file.was);
  const part = source.kind === "node" && source.decided === true; // the old lines are not those that the work began with
  const drafts = useDrafts(source).filter((d) => d.comment.path === file.path && !(part && d.comment.old === true));
  const typed = useTyped(source).filter((t) => t.place.path === file.path && !(part && t.place.old));
  return (
    <Answer query={pair}>
      {({ old, new: now }) => {
        const instead = told(old, now);
        if (instead !== undefined) {
          return <Empty title={instead}>{`${size(old)} before, ${size(now)} now`}</Empty>;
        }
        const kinds = kindsOf(old, now);
        return (
          <div className="flex h-full min-h-0 flex-col">
            {kinds !== undefined && <p className="px-3 py-1 text-muted">{kinds}</p>}
            {(old?.cut === true || now?.cut === true) && <p className="bg-warn-soft px-3 py-1 text-warn">{`Only the first MB is shown: ${size(old)} before, ${size(now)} now.`}</p>}
            {comment && (
              <p className="px-3 py-0.5 text-sm text-muted">
                To comment, click a line number<span className="max-md:hidden">{" (with Shift: up to that line), or Tab to it and press Enter"}</span>.
              </p>
            )}
            <div className="min-h-0 grow">
              <DiffView
                line={line}
                label={`Changes of ${visible(file.path)}`}
                path={file.path}
                old={old?.text ?? ""}
                now={now?.text ?? ""}
                unified={unified || old === null || now === null} // beside nothing a side stands alone
                commenting={
                  comment
                    ? {
                        all: drafts,
                        onOld: !part,
                        add: (at, text, quote) => addDraft(source, commentAt({ ...at, path: file.path }, text, quote)),
                        change: (d, text) => changeDraft(source, d.id, text),
                        remove: (d) => forgetDrafts(source, [d]),
                        typed,
                        type: (at, text, quote) => keepTyped(source, { old: at.old, line: at.line, to: at.to, path: file.path }, text, quote),
                      }
                    : undefined
                }
              />
            </div>
          </div>
        );
      }}
    </Answer>
  );
}

type Side = Api<"FileSide"> | null;

/** The text for files without lines to compare. */
function told(old: Side, now: Side): string | undefined {
  if (old?.binary === true || now?.binary === true) {
    return "A binary file: it has no lines to compare";
  }
  const odd = [old, now].find((s) => s && s.kind === "other");
  return odd ? "Neither a file nor a link: there is nothing to compare" : undefined;
}

function size(s: Side): string {
  return s ? bytes(s.size) : "not there";
}

const names = { file: "a file", executable: "executable", link: "a link", submodule: "a submodule", other: "something else" } as const;

function kindsOf(old: Side, now: Side): string | undefined {
  const a = old && names[old.kind];
  const b = now && names[now.kind];
  if (a && b && a !== b) {
    return `It was ${a} and is ${b} now.`;
  }
  const one = b ?? a;
  return one && one !== names.file ? `It is ${one}.` : undefined;
}
