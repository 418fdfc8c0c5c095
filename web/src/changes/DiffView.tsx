import { clsx } from "clsx";
import { createContext, useContext, useMemo, useState, type ReactNode } from "react";

import { CommentEditor, CommentNote } from "@/changes/CommentEditor";
import { diff, linesOf } from "@/changes/diff";
import type { Draft, Place, Unfinished } from "@/changes/drafts";
import { foldOf, rows, type Line, type Row } from "@/changes/rows";
import { commentOf, pieces, type Kind } from "@/changes/syntax";
import { visible } from "@/changes/visible";
import { count } from "@/ui/figures";
import { VirtualList } from "@/ui/list";

/** Where comments on lines are kept. */
export interface Commenting {
  all: readonly Draft[]; // on this file
  onOld: boolean; // old lines can be commented on as well
  add: (place: Omit<Place, "path">, text: string, quote: string) => void;
  change: (d: Draft, text: string) => void;
  remove: (d: Draft) => void;
  typed: readonly Unfinished[]; // about this file
  type: (place: Omit<Place, "path">, text: string, quote: string) => void;
}

/** What begins a comment in the language of the file. */
const Comments = createContext<string | undefined>(undefined);

interface DiffViewProps {
  label: string;
  path: string; // its language colors the lines
  old: string;
  now: string;
  unified: boolean;
  commenting?: Commenting | undefined;
  line?: number | undefined; // of the new text, brought into view and marked
}

type Lines = Omit<Place, "path">;

/** Two texts and what they differ in, of any length. */
export function DiffView({ label, path, old, now, unified, commenting, line }: DiffViewProps) {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const [place, setPlace] = useState<Lines>();
  const parts = useMemo(() => {
    const a = linesOf(old);
    const b = linesOf(now);
    return { a, b, pieces: diff(a, b) };
  }, [old, now]);
  const all = useMemo(() => {
    const fold = line === undefined ? undefined : foldOf(parts.pieces, line);
    return rows(parts.pieces, parts.a, parts.b, { unified, open: fold === undefined ? open : new Set(open).add(fold) });
  }, [parts, unified, open, line]);
  const marked = line === undefined ? -1 : all.findIndex((r) => r.type !== "fold" && r.new?.n === line);
  const quoteAt = (at: Lines) => (at.old ? parts.a : parts.b).slice(at.line - 1, at.to).join("\n");
  const typedAt = (at: Lines) => commenting?.typed.find((t) => sameLines(t.place, at))?.text ?? "";
  // A text that became a comment elsewhere, such as where all are sent, leaves no empty field behind.
  const [begun, setBegun] = useState(false);
  const begins = place !== undefined && typedAt(place) !== "";
  if (begun !== begins) {
    setBegun(begins);
    if (begun && place !== undefined && commenting?.all.some(({ comment: c }) => sameLines({ old: c.old ?? false, line: c.line ?? 0, to: c.to ?? c.line ?? 0 }, place)) === true) {
      setPlace(undefined);
    }
  }
  const choose = (side: "old" | "new", n: number, extend: boolean) => {
    const isOld = side === "old";
    if (!extend || place?.old !== isOld) {
      setBegun(false);
      setPlace({ old: isOld, line: n, to: n });
      return;
    }
    const next = { old: isOld, line: Math.min(place.line, n), to: Math.max(place.line, n) };
    const text = typedAt(place);
    if (text !== "" && !sameLines(place, next)) {
      commenting?.type(place, "", ""); // it goes along
      commenting?.type(next, text, quoteAt(next));
    }
    setPlace(next);
  };
  const leave = (at: Lines) => {
    commenting?.type(at, "", "");
    setPlace((was) => (was && sameLines(was, at) ? undefined : was));
  };
  const save = (place: Lines, text: string) => {
    commenting?.add(place, text, quoteAt(place));
    leave(place);
  };
  if (parts.pieces.every((p) => p.same)) {
    return <p className="p-4 text-muted">{old === now ? "The text is the same." : "Only the end of the last line differs: one of the two has no line feed there."}</p>;
  }
  const below = (r: Row): ReactNode => {
    if (!commenting || r.type === "fold") {
      return null;
    }
    const here = (side: boolean, n: number | undefined) => n !== undefined && !(r.type === "same" && side) && { side, n };
    const ends = [here(true, r.old?.n), here(false, r.new?.n)].filter((e) => e !== false);
    const notes = commenting.all.filter(({ comment: c }) => ends.some((e) => (c.old ?? false) === e.side && (c.to ?? c.line) === e.n));
    const open = [...(place === undefined ? [] : [place]), ...commenting.typed.map((t) => t.place).filter((t) => place === undefined || !sameLines(t, place))];
    const editing = open.filter((p) => ends.some((e) => p.old === e.side && p.to === e.n));
    return (
      <>
        {notes.map((d) => (
          <CommentNote key={d.id} comment={d.comment} onChange={(text) => commenting.change(d, text)} onRemove={() => commenting.remove(d)} />
        ))}
        {editing.map((at) => (
          <CommentEditor
            key={`${at.old} ${at.line} ${at.to}`}
            about={placeName(at)}
            text={typedAt(at)}
            focus={at === place}
            onType={(text) => commenting.type(at, text, quoteAt(at))}
            onSave={(text) => save(at, text)}
            onCancel={() => leave(at)}
          />
        ))}
      </>
    );
  };
  return (
    <Comments value={commentOf(path)}>
    <VirtualList
      label={label}
      items={all}
      estimate={20}
      show={marked < 0 ? undefined : marked}
      keyOf={(r) => (r.type === "fold" ? `f${r.id}` : `${r.old?.n ?? ""}:${r.new?.n ?? ""}`)}
      row={(r) => (
        <>
          <DiffRow row={r} unified={unified} place={place} marked={line} choose={commenting && choose} onOld={commenting?.onOld === true} alone={parts.a.length === 0} unfold={(id) => setOpen((was) => new Set(was).add(id))} />
          {below(r)}
        </>
      )}
    />
    </Comments>
  );
}

function sameLines(a: Lines, b: Lines): boolean {
  return a.old === b.old && a.line === b.line && a.to === b.to;
}

function placeName({ line, to, old }: Lines): string {
  return `${to > line ? `lines ${line} to ${to}` : `line ${line}`}${old ? " as before" : ""}`;
}

interface RowProps {
  row: Row;
  unified: boolean;
  place: Lines | undefined;
  marked: number | undefined; // a line of the new text
  choose: ((side: "old" | "new", n: number, extend: boolean) => void) | undefined;
  onOld: boolean;
  alone: boolean; // there is no old text
  unfold: (id: number) => void;
}

function DiffRow({ row, unified, place, marked, choose, onOld, alone, unfold }: RowProps) {
  if (row.type === "fold") {
    return (
      <button type="button" onClick={() => unfold(row.id)} className="block w-full bg-info-soft px-3 py-0.5 text-left text-info hover:underline">
        {`Show ${count(row.lines, "line")} that did not change`}
      </button>
    );
  }
  const cell = (side: "old" | "new", line: Line | undefined) => (
    <Cell
      side={side}
      line={line}
      changed={row.type === "changed"}
      chosen={line !== undefined && ((side === "new" && line.n === marked) || place !== undefined && place.old === (side === "old") && line.n >= place.line && line.n <= place.to)}
      choose={side === "old" && !(onOld && row.type === "changed") ? undefined : choose}
    />
  );
  if (row.type === "same" && unified) {
    return (
      <div className="flex font-mono text-code">
        <Number side="old" line={row.old} />
        {cell("new", row.new)}
      </div>
    );
  }
  if (unified) {
    return (
      <div className="flex font-mono text-code">
        {row.old ? cell("old", row.old) : alone ? null : <Number side="old" />}
        {row.old ? null : cell("new", row.new)}
      </div>
    );
  }
  return (
    <div className="grid grid-cols-2 font-mono text-code">
      {cell("old", row.old)}
      <div className="flex min-w-0 border-l border-line">{cell("new", row.new)}</div>
    </div>
  );
}

const numberClass = "w-12 shrink-0 px-1 text-right tabular-nums text-muted select-none";

function Number({ line }: { side: "old"; line?: Line }) {
  return <span className={numberClass}>{line?.n}</span>;
}

interface CellProps {
  side: "old" | "new";
  line: Line | undefined;
  changed: boolean;
  chosen: boolean;
  choose: ((side: "old" | "new", n: number, extend: boolean) => void) | undefined;
}

function Cell({ side, line, changed, chosen, choose }: CellProps) {
  if (!line) {
    return <div className="grow bg-sunken" />;
  }
  const sign = !changed ? " " : side === "old" ? "−" : "+";
  return (
    <div className={clsx("group/line flex min-w-0 grow", changed && (side === "old" ? "bg-removed" : "bg-added"), chosen && "shadow-[inset_4px_0_var(--color-accent)]")} data-chosen={chosen || undefined}>
      {choose ? (
        <button
          type="button"
          className={clsx(numberClass, "group/number relative hover:bg-accent hover:text-on-accent")}
          aria-label={`Comment on ${side === "old" && changed ? "old " : ""}line ${line.n}`}
          onClick={(e) => choose(side === "old" && changed ? "old" : "new", line.n, e.shiftKey)}
        >
          {/* The sign says that a comment can be added, the number does not. */}
          <span aria-hidden className="absolute left-0.5 hidden font-bold group-hover/line:inline group-focus-visible/number:inline">
            +
          </span>
          {line.n}
        </button>
      ) : (
        <span className={numberClass}>{line.n}</span>
      )}
      <span className="w-4 shrink-0 text-center select-none" aria-hidden>
        {sign}
      </span>
      <span className="min-w-0 grow pr-2 whitespace-pre-wrap wrap-anywhere">
        {changed && <span className="sr-only">{side === "old" ? "removed: " : "added: "}</span>}
        <Text line={line} side={side} />
      </span>
    </div>
  );
}

const colors: Readonly<Record<Kind, string>> = { comment: "text-muted italic", string: "text-ok", number: "text-info", keyword: "text-accent", plain: "" };

/** A line in its colors, with what differs from the line beside it underlined. */
function Text({ line: { text, differs }, side }: { line: Line; side: "old" | "new" }) {
  const comment = useContext(Comments);
  const [from, to] = differs ?? [0, 0];
  const under = `rounded-xs underline decoration-2 underline-offset-2 ${side === "old" ? "decoration-bad" : "decoration-ok"}`;
  const parts: ReactNode[] = [];
  let at = 0;
  for (const { text: piece, kind } of pieces(text, comment)) {
    const ends = [at, Math.min(Math.max(from, at), at + piece.length), Math.min(Math.max(to, at), at + piece.length), at + piece.length] as const;
    for (const i of [0, 1, 2] as const) {
      const part = text.slice(ends[i], ends[i + 1]);
      const look = clsx(colors[kind], i === 1 && under);
      if (part !== "") {
        parts.push(look === "" ? visible(part) : <span key={ends[i]} className={look}>{visible(part)}</span>);
      }
    }
    at += piece.length;
  }
  return parts;
}
