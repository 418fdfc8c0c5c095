import { useEffect, useRef } from "react";

interface NameListProps {
  id: string;
  names: readonly string[];
  chosen: number;
  choose: (name: string) => void;
}

/** The names that may be meant behind @, above the field. The keys stay with the field. */
export function NameList({ id, names, chosen, choose }: NameListProps) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <ul ref={list} id={id} role="listbox" aria-label="Members" className="absolute bottom-full left-0 z-20 mb-1 max-h-48 min-w-40 overflow-y-auto rounded-md border border-line bg-raised p-1 shadow-lg">
      {names.map((n, i) => (
        <li
          key={n}
          id={`${id}-${i}`}
          role="option"
          aria-selected={i === chosen}
          className="cursor-pointer rounded px-2 py-1 aria-selected:bg-accent-soft aria-selected:text-accent"
          onMouseDown={(e) => {
            e.preventDefault(); // the field keeps the focus
            choose(n);
          }}
        >
          {n === "all" ? "all (everybody)" : n}
        </li>
      ))}
    </ul>
  );
}
