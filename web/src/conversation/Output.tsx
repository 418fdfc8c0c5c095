import { visible } from "@/changes/visible";
import { count } from "@/ui/figures";

const shown = 20_000;

/** What a program wrote, as text; its end, where it is long. */
export function Output({ text, cut = 0, open = false, label = "Output" }: { text: string; cut?: number; open?: boolean; label?: string }) {
  const missing = Math.max(0, text.length - shown);
  const lines = text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;
  return (
    <details open={open}>
      <summary className="text-muted">{`${label}, ${count(lines, "line")}`}</summary>
      {missing > 0 && <p className="text-muted">{`The first ${count(missing, "character")} are not shown.`}</p>}
      <pre tabIndex={0} aria-label={label} className="my-1 max-h-96 overflow-auto rounded bg-sunken p-2 whitespace-pre-wrap wrap-anywhere">
        {visible(missing > 0 ? text.slice(missing) : text)}
      </pre>
      {cut > 0 && <p className="text-muted">{`${count(cut, "byte")} were not kept.`}</p>}
    </details>
  );
}
