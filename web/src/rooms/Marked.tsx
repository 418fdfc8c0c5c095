import { useMemo } from "react";

import type { Api } from "@/api/client";
import { visible } from "@/changes/visible";
import { marks } from "@/rooms/marks.gen";
import { calledBy } from "@/rooms/rooms";
import { Label, type Tone } from "@/ui/label";
import { Markdown, type Insert } from "@/ui/markdown";
import { slot, withoutSlots } from "@/ui/slots";

type Piece = Api<"MarksPiece">;

/** How the form of each kind of piece begins in the list of marks. */
const forms: Readonly<Record<Exclude<Piece["kind"], "text" | "code">, (p: Piece) => string>> = {
  mention: () => "@NAME",
  agree: () => "+1 NAME",
  handoff: () => "[HANDOFF",
  status: (p) => `[${p.mark ?? ""}`,
};

/** A text in which the marks are seen, as the server has read them. `lines` keeps the line breaks of a person. */
export function Marked({ pieces, lines = false }: { pieces: readonly Piece[]; lines?: boolean }) {
  const { text, inserts } = useMemo(() => {
    const inserts: Insert[] = [];
    const text = pieces
      .map((p) => {
        if (p.kind === "text" || p.kind === "code") {
          return withoutSlots(p.text);
        }
        inserts.push({ text: p.text, node: <MarkView piece={p} form={forms[p.kind](p)} /> });
        return slot(inserts.length - 1);
      })
      .join("");
    return { text, inserts };
  }, [pieces]);
  return (
    <Markdown lines={lines} inserts={inserts}>
      {text}
    </Markdown>
  );
}

function MarkView({ piece: p, form }: { piece: Piece; form: string }) {
  const mark = marks.find((m) => m.label.startsWith(form));
  const tone: Tone = mark?.tone ?? "info";
  return (
    <span title={mark?.help}>
      <Label tone={tone}>{wordOf(p)}</Label>
    </span>
  );
}

/** What a mark says to a reader. */
function wordOf(p: Piece): string {
  const name = p.name ?? "";
  switch (p.kind) {
    case "mention":
      return `@${name}`;
    case "agree":
      return `agrees with ${calledBy(name)}`;
    case "handoff":
      return `hands to ${name}`;
    case "status":
      return p.mark === "STATUS" ? visible(p.words ?? "") : (p.mark ?? "").toLowerCase();
    default:
      return p.text;
  }
}
