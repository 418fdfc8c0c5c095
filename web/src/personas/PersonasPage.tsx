import { FlaskConical, Pencil, Plus } from "lucide-react";
import { useState } from "react";

import { visible } from "@/changes/visible";
import { hooks } from "@/api/client";
import type { Persona } from "@/personas/persona";
import { PersonaDialog } from "@/personas/PersonaDialog";
import { TryDialog } from "@/personas/TryDialog";
import { Button } from "@/ui/button";
import { count } from "@/ui/figures";
import { Label } from "@/ui/label";
import { Page } from "@/ui/page";
import { Answer, Empty } from "@/ui/states";

/** The personas: role files with the agent that takes the role. */
export default function PersonasPage() {
  const personas = hooks.useQuery("get", "/api/personas", { params: { query: { limit: 1000 } } });
  const [edited, edit] = useState<string>(); // empty: a new one
  const [tried, attempt] = useState<string>();
  const all = personas.data?.items ?? [];
  const make = (
    <Button tone="accent" icon={<Plus aria-hidden size={16} />} onClick={() => edit("")}>
      Make a persona
    </Button>
  );
  const trying = all.find((p) => p.name === tried);
  return (
    <Page title="Personas" about={personas.data && <span>{count(all.length, "persona")}</span>} actions={all.length > 0 && make} ready={!personas.isPending}>
      <Answer query={personas}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="There is no persona yet" action={make}>
              A persona is a role file, .cmux/roles/NAME.md: what an agent with the role is told, and of which kind and model it is. Members of rooms and workers take one.
            </Empty>
          ) : (
            <ul aria-label="Personas" className="grid grid-cols-[repeat(auto-fill,minmax(min(22rem,100%),1fr))] gap-3 p-4">
              {items.map((p) => (
                <PersonaCard key={p.name} persona={p} edit={() => edit(p.name)} attempt={() => attempt(p.name)} />
              ))}
            </ul>
          )
        }
      </Answer>
      {edited !== undefined && <PersonaDialog key={edited} name={edited} all={all} onClose={() => edit(undefined)} onMade={edit} />}
      {trying && <TryDialog persona={trying} onClose={() => attempt(undefined)} />}
    </Page>
  );
}

function PersonaCard({ persona: p, edit, attempt }: { persona: Persona; edit: () => void; attempt: () => void }) {
  const agent = [p.kind === "" ? "any kind" : p.kind, p.model].filter((x) => x !== "").join(" · ");
  return (
    <li aria-label={p.name} className="flex min-w-0 flex-col gap-1 rounded-lg border border-line bg-surface p-3">
      <p className="flex flex-wrap items-center gap-2">
        <strong className="wrap-anywhere">{p.name}</strong>
        <span className="text-muted wrap-anywhere">{visible(agent)}</span>
        {p.own && <Label>cmux&apos;s own</Label>}
      </p>
      {p.fault === "" ? <p className="line-clamp-3 text-muted wrap-anywhere">{visible(p.text.replaceAll(/\s+/g, " ").trim())}</p> : <p className="text-bad wrap-anywhere">{visible(p.fault)}</p>}
      {p.used.length > 0 && <p className="wrap-anywhere">{`Used by ${p.used.join(", ")}`}</p>}
      {p.fault === "" && (
        <p className="mt-auto flex flex-wrap gap-2 pt-1">
          <Button icon={<Pencil aria-hidden size={15} />} aria-label={`Edit ${p.name}`} onClick={edit}>
            Edit
          </Button>
          <Button icon={<FlaskConical aria-hidden size={15} />} aria-label={`Try ${p.name}`} onClick={attempt}>
            Try it…
          </Button>
        </p>
      )}
    </li>
  );
}
