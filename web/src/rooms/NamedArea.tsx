import { useId, useLayoutEffect, useRef, useState } from "react";

import { completed, typedName } from "@/rooms/completion";
import { NameList } from "@/rooms/NameList";
import { Textarea } from "@/ui/field";

interface NamedAreaProps {
  ids: { id: string };
  value: string;
  names: readonly string[];
  placeholder: string;
  disabled: boolean;
  onChange: (text: string) => void;
  onPress: (e: React.KeyboardEvent) => void; // a key that the list of names has no use for
}

/** A field for text in which @ offers names. */
export function NamedArea({ ids, value, names, placeholder, disabled, onChange, onPress }: NamedAreaProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const list = useId();
  const [caret, setCaret] = useState(0);
  const [chosen, choose] = useState(0);
  const [closed, close] = useState(""); // the text for which the list was closed
  const moved = useRef<number>(undefined); // where the caret is to be, after a name was put in
  const typed = disabled || closed === value ? undefined : typedName(value, caret, names);
  useLayoutEffect(() => {
    if (moved.current !== undefined) {
      field.current?.setSelectionRange(moved.current, moved.current);
      moved.current = undefined;
    }
  }, [value]);
  const put = (name: string | undefined) => {
    if (typed && name !== undefined) {
      const next = completed(value, typed, name);
      moved.current = next.caret;
      setCaret(next.caret);
      close(next.text);
      onChange(next.text);
    }
  };
  const press = (e: React.KeyboardEvent) => {
    const plain = !e.shiftKey && !e.ctrlKey && !e.metaKey && !e.altKey && !e.nativeEvent.isComposing;
    if (typed && plain) {
      const n = typed.names.length;
      if (e.key === "ArrowDown" || e.key === "ArrowUp") {
        e.preventDefault();
        choose((chosen + (e.key === "ArrowDown" ? 1 : n - 1)) % n);
        return;
      }
      if (e.key === "Enter" || e.key === "Tab") {
        e.preventDefault();
        put(typed.names[chosen]);
        return;
      }
      if (e.key === "Escape") {
        e.preventDefault();
        close(value);
        return;
      }
    }
    onPress(e);
  };
  return (
    <div className="relative">
      {typed && <NameList id={list} names={typed.names} chosen={chosen} choose={put} />}
      <Textarea
        {...ids}
        ref={field}
        className="block min-h-16"
        placeholder={placeholder}
        disabled={disabled}
        value={value}
        aria-autocomplete="list"
        aria-controls={typed ? list : undefined}
        aria-activedescendant={typed ? `${list}-${chosen}` : undefined}
        onChange={(e) => {
          setCaret(e.target.selectionStart);
          choose(0);
          onChange(e.target.value);
        }}
        onSelect={(e) => setCaret(e.currentTarget.selectionStart)}
        onBlur={() => close(value)}
        onKeyDown={press}
      />
    </div>
  );
}
