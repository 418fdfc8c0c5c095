import { autocompletion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";
import { useEffect, useRef } from "react";

import type { Api } from "@/api/client";
import { nonce } from "@/app/nonce";
import { choices, placeOf, type Schema } from "@/editor/complete";
import { change as least } from "@/editor/draft";
import { offsetOf } from "@/editor/faults";

interface YamlEditorProps {
  label: string;
  text: string;
  onChange: (text: string) => void;
  faults: readonly Api<"ConfigFault">[];
  warnings: readonly Api<"ConfigFault">[];
  file: string; // faults of other files are not marked
  schema: Schema | undefined;
  goTo?: { line: number; column: number } | undefined; // a new object: the cursor goes there
}

const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "var(--text-code)", backgroundColor: "var(--color-surface)", color: "var(--color-text)" },
  "&.cm-focused": { outline: "2px solid var(--color-accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--font-mono)", lineHeight: "var(--line)", overflow: "auto" },
  ".cm-gutters": { backgroundColor: "var(--color-sunken)", color: "var(--color-muted)", borderRight: "1px solid var(--color-line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLineGutter": { color: "var(--color-text)" },
  ".cm-content": { caretColor: "var(--color-text)" },
  ".cm-cursor": { borderLeftColor: "var(--color-text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--color-accent-soft)" },
  ".cm-tooltip": { backgroundColor: "var(--color-raised)", color: "var(--color-text)", border: "1px solid var(--color-line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--color-accent-soft)", color: "var(--color-text)" },
  ".cm-panels": { backgroundColor: "var(--color-raised)", color: "var(--color-text)" },
  ".ͼ1 .cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--color-sunken)" },
});

/** The editor's own colors are for a light page. */
const colors = syntaxHighlighting(
  HighlightStyle.define([
    { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--color-accent)" },
    { tag: tags.string, color: "var(--color-ok)" },
    { tag: [tags.comment, tags.meta], color: "var(--color-muted)" },
    { tag: [tags.keyword, tags.atom, tags.special(tags.string)], color: "var(--color-info)" },
    { tag: [tags.labelName, tags.typeName], color: "var(--color-warn)" },
    { tag: tags.invalid, color: "var(--color-bad)" },
  ]),
);

/** A YAML text with the keys of its schema offered, and what is wrong with it marked. */
export default function YamlEditor({ label, text, onChange, faults, warnings, file, schema, goTo }: YamlEditorProps) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const change = useRef(onChange);
  const known = useRef(schema);
  const first = useRef(text);
  useEffect(() => {
    change.current = onChange;
    known.current = schema;
  });
  useEffect(() => {
    if (!box.current) {
      return;
    }
    const made = new EditorView({
      parent: box.current,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          EditorView.cspNonce.of(nonce),
          basicSetup,
          yaml(),
          theme,
          colors,
          lintGutter(),
          EditorView.lineWrapping,
          autocompletion({ icons: false, override: [(c) => complete(c, known.current)] }),
          EditorView.contentAttributes.of({ "aria-label": label }),
          EditorView.updateListener.of((u) => {
            if (u.docChanged) {
              change.current(u.state.doc.toString());
            }
          }),
        ],
      }),
    });
    made.scrollDOM.tabIndex = 0; // it scrolls by the keyboard, too
    view.current = made;
    return () => made.destroy();
  }, [label]);
  useEffect(() => {
    const v = view.current;
    const doc = v?.state.doc.toString();
    if (v && doc !== undefined && doc !== text) {
      v.dispatch({ changes: least(doc, text) });
    }
  }, [text]);
  useEffect(() => {
    const v = view.current;
    if (!v) {
      return;
    }
    const doc = v.state.doc.toString();
    const marked = (all: readonly Api<"ConfigFault">[], severity: Diagnostic["severity"]) =>
      all
        .filter((f) => f.file === file)
        .map((f): Diagnostic => {
          const [from, to] = offsetOf(doc, f.line, f.column);
          return { from, to, severity, message: f.message };
        });
    v.dispatch(setDiagnostics(v.state, [...marked(faults, "error"), ...marked(warnings, "warning")]));
  }, [faults, warnings, file]);
  useEffect(() => {
    const v = view.current;
    if (v && goTo) {
      const [at] = offsetOf(v.state.doc.toString(), goTo.line, goTo.column);
      v.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
      v.focus();
    }
  }, [goTo]);
  return <div ref={box} className="h-full min-h-0 overflow-hidden" />;
}

function complete(c: CompletionContext, schema: Schema | undefined): CompletionResult | null {
  const place = schema && placeOf(c.state.doc.toString(), c.pos);
  if (!place || (!c.explicit && place.typed === "")) {
    return null;
  }
  return {
    from: c.pos - place.typed.length,
    options: choices(schema, place).map((o) => ({ label: o.label, apply: o.kind === "key" ? `${o.label}: ` : o.label, type: o.kind === "key" ? "property" : "constant", ...(o.info === "" ? {} : { info: o.info }) })),
    validFor: /^[\w-]*$/,
  };
}
