import type { Api } from "@/api/client";
import { useNeeds } from "@/needs/needs";
import { count } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Page } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";
import { Ago } from "@/ui/time";

export default function NeedsPage() {
  const needs = useNeeds();
  return (
    <Page title="Needs you" about={needs.data && <span>{count(needs.data.items.length, "thing waits", "things wait")}</span>}>
      <Answer query={needs}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="Nothing needs you">Questions, gates, reviews and failures appear here.</Empty>
          ) : (
            <ul className="flex flex-col gap-2 p-4">
              {items.map((n) => (
                <Line key={n.id} need={n} />
              ))}
            </ul>
          )
        }
      </Answer>
    </Page>
  );
}

function Line({ need }: { need: Api<"Need"> }) {
  return (
    <li className="flex flex-wrap items-start gap-2 rounded-lg border border-line bg-surface p-3">
      <Label>{need.label}</Label>
      <strong>{need.name}</strong>
      <p className="min-w-0 grow wrap-anywhere">{need.text}</p>
      {need.since !== undefined && <Ago at={need.since} className="text-muted" />}
    </li>
  );
}
