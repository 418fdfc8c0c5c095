import { hooks } from "@/api/client";
import type { Persona } from "@/personas/persona";

/** The personas that a member may have; none until they are there. */
export function usePersonas(): readonly Persona[] {
  return hooks.useQuery("get", "/api/personas", { params: { query: { limit: 1000 } } }).data?.items ?? none;
}

const none: readonly Persona[] = [];

/** What a field for a role offers. */
export function Roles({ id, personas }: { id: string; personas: readonly Persona[] }) {
  return (
    <datalist id={id}>
      {personas.map((p) => (
        <option key={p.name} value={p.name}>
          {[p.kind, p.model].filter((x) => x !== "").join(" · ")}
        </option>
      ))}
    </datalist>
  );
}
