import type { Api } from "@/api/client";
import { count } from "@/ui/figures";

interface FaultListProps {
  faults: readonly Api<"ConfigFault">[];
  warnings: readonly Api<"ConfigFault">[];
  fine: string; // without faults
  goTo: (line: number, column: number) => void;
}

/** What is wrong with a text, each fault with the way to its place. */
export function FaultList({ faults, warnings, fine, goTo }: FaultListProps) {
  return (
    <div className="max-h-40 shrink-0 overflow-auto border-b border-line px-3 py-1.5" role="group" aria-label="Check" tabIndex={0}>
      <p role="status" className={faults.length === 0 ? "text-ok" : "text-bad"}>
        {faults.length === 0 ? fine : count(faults.length, "error")}
      </p>
      <ul>
        {[...faults, ...warnings].map((f, i) => (
          <li key={i} className="wrap-anywhere">
            <button type="button" className="text-left underline" onClick={() => goTo(f.line, f.column)}>
              {f.file}:{f.line}:{f.column}
            </button>{" "}
            <span className={i < faults.length ? "text-bad" : "text-warn"}>{f.message}</span>
            {f.hint !== undefined && <span className="text-muted"> ({f.hint})</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}
