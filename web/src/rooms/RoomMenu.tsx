import { MoreHorizontal } from "lucide-react";
import { useState } from "react";
import { useNavigate } from "react-router";

import { RemoveDialog } from "@/rooms/RemoveDialog";
import { give, type Room } from "@/rooms/rooms";
import { IconButton } from "@/ui/button";
import { Menu, type MenuItem } from "@/ui/menu";
import { useOrder } from "@/ui/toasts";

/** What can be done with a room in the list. */
export function RoomMenu({ view }: { view: Room }) {
  const { room } = view;
  const [removing, remove] = useState(false);
  const navigate = useNavigate();
  const order = useOrder(give.order);
  const to = `/rooms/${encodeURIComponent(room.name)}`;
  const items: MenuItem[] = [
    { label: "Open room", run: () => void navigate(to) },
    ...(room.phase === "closed" ? [{ label: "Reopen room", run: () => order.mutate({ room: room.name, do: "reopen" as const }, { onSuccess: () => void navigate(to) }) }] : []),
    { label: "Remove room…", run: () => remove(true), bad: true },
  ];
  return (
    <>
      <Menu
        trigger={
          <IconButton label={`Actions for ${room.name}`} className="min-h-6">
            <MoreHorizontal size={16} />
          </IconButton>
        }
        items={items}
      />
      {removing && <RemoveDialog view={view} onClose={() => remove(false)} />}
    </>
  );
}
