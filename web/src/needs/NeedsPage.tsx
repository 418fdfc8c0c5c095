import { BellRing } from "lucide-react";
import { useState } from "react";

import { byWait, placed } from "@/needs/answers";
import { NeedCard } from "@/needs/NeedCard";
import { useNeeds } from "@/needs/needs";
import { usePermission } from "@/needs/notify";
import { Button } from "@/ui/button";
import { count } from "@/ui/figures";
import { Page } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";

/** How many are drawn at first, and how many more at a time. */
const step = 50;

export function NeedsPage() {
  const needs = useNeeds();
  const [shown, setShown] = useState(step);
  return (
    <Page title="Needs you" about={needs.data && <span>{count(needs.data.total, "thing waits", "things wait")}</span>} actions={<Notify />}>
      <Answer query={needs}>
        {({ items, total }) =>
          items.length === 0 ? (
            <Empty title="Nothing needs you">Questions, gates, reviews, failures, limits, conflicts and messages appear here.</Empty>
          ) : (
            <>
              <ul aria-label="What waits for you" className="mx-auto flex w-full max-w-4xl flex-col gap-2 p-3 md:p-4">
                {placed(byWait(items).slice(0, shown)).map(({ need, place }) => (
                  <NeedCard key={need.id} need={need} place={place} />
                ))}
              </ul>
              {items.length > shown ? (
                <p className="pb-4 text-center">
                  <Button onClick={() => setShown(shown + step)}>Show {Math.min(step, items.length - shown)} more</Button>
                </p>
              ) : (
                total > items.length && <p className="pb-4 text-center text-muted">{`${count(total - items.length, "older unread message")} in your inbox (Chat)`}</p>
              )}
            </>
          )
        }
      </Answer>
    </Page>
  );
}

function Notify() {
  const [permission, ask] = usePermission();
  switch (permission) {
    case "unsupported":
      return null;
    case "granted":
      return <span className="text-muted">Notifications are on</span>;
    case "denied":
      return <span className="text-muted">The browser blocks notifications</span>;
    default:
      return (
        <Button icon={<BellRing aria-hidden size={15} />} onClick={ask}>
          Notify me
        </Button>
      );
  }
}
