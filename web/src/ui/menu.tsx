import { DropdownMenu as Radix } from "radix-ui";
import type { ReactElement } from "react";

export interface MenuItem {
  label: string;
  run: () => void;
  bad?: boolean;
  disabled?: boolean;
}

export function Menu({ trigger, items }: { trigger: ReactElement; items: readonly MenuItem[] }) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content align="end" sideOffset={4} className="z-50 min-w-40 rounded-md border border-line bg-raised p-1 shadow-lg">
          {items.map((i) => (
            <Radix.Item
              key={i.label}
              disabled={i.disabled === true}
              onSelect={i.run}
              className={`cursor-pointer rounded px-2 py-1 data-[disabled]:opacity-55 data-[highlighted]:bg-accent-soft ${i.bad === true ? "text-bad" : ""}`}
            >
              {i.label}
            </Radix.Item>
          ))}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
