/*
 * A persona that is edited, and its role file as it is by now, as a pure machine. It knows no
 * React and no storage.
 */
import { api, type Api } from "@/api/client";

export type Persona = Api<"Persona">;

export interface Form {
  kind: string;
  model: string;
  text: string;
}

export interface Edit {
  form: Form;
  base: Persona | undefined; // what the form was made from; undefined: it is a new one
  disk: Persona | undefined; // the file as it was seen last; undefined: it is not there
}

function formOf(p: Persona | undefined): Form {
  return { kind: p?.kind ?? "", model: p?.model ?? "", text: p?.text ?? "" };
}

export function open(p: Persona | undefined): Edit {
  return { form: formOf(p), base: p, disk: p };
}

const same = (a: Form, b: Form) => a.kind.trim() === b.kind.trim() && a.model.trim() === b.model.trim() && a.text.trimEnd() === b.text.trimEnd();

/** Whether there is something to save. */
export function dirty({ form, base }: Edit): boolean {
  return !same(form, formOf(base));
}

/** Whether somebody else changed the file since the form was made from it. */
export function conflict({ base, disk }: Edit): boolean {
  return base?.sum !== disk?.sum;
}

/** The list with a persona as it was saved. */
export function withSaved(all: readonly Persona[], saved: Persona): Persona[] {
  return [...all.filter((p) => p.name !== saved.name), saved].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The file was looked at again: a form in which nothing was typed follows it. */
export function look(edit: Edit, disk: Persona | undefined): Edit {
  return disk !== undefined && (!dirty(edit) || same(edit.form, formOf(disk))) ? open(disk) : { ...edit, disk };
}

/** The file's text instead of what was typed. */
export function take({ disk }: Edit): Edit {
  return open(disk);
}

/** What was typed is to be written over what the file says by now. */
export function over(edit: Edit): Edit {
  return { ...edit, base: edit.disk };
}

/** What is wrong with the name of a new persona; undefined: nothing. */
export function faultOfName(name: string, all: readonly Persona[]): string | undefined {
  if (name === "") {
    return undefined;
  }
  if (!/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,39}$/.test(name)) {
    return "A name has letters, digits, - and _, at most 40.";
  }
  return all.some((p) => p.name.toLowerCase() === name.toLowerCase()) ? `There is a persona ${name} already: edit that one.` : undefined;
}

/** What the choice of a role makes of a member to be: a persona's kind goes where none was typed. */
export function roleOf(kind: string, role: string, all: readonly Persona[]): { role: string; kind: string } {
  const of = all.find((p) => p.name === role.trim())?.kind ?? "";
  return { role, kind: kind.trim() === "" ? of : kind };
}

/** The first of try-NAME, try-NAME-2, … that no room has. */
export function freeName(persona: string, taken: readonly string[]): string {
  const first = `try-${persona}`.slice(0, 36);
  for (let n = 1; ; n++) {
    const name = n === 1 ? first : `${first}-${n}`;
    if (!taken.includes(name.toLowerCase())) {
      return name;
    }
  }
}

/** What is kept of an edit, to be found again; empty: nothing. */
export function keep(edit: Edit): string {
  return dirty(edit) ? JSON.stringify({ form: edit.form, base: edit.base }) : "";
}

/** The edit that was kept of a file, or one of the file as it is. */
export function restore(kept: string | null, disk: Persona | undefined): Edit {
  try {
    const { form, base } = JSON.parse(kept ?? "") as Pick<Edit, "form" | "base">;
    if (typeof form.text === "string" && typeof form.kind === "string" && typeof form.model === "string") {
      return look({ form, base, disk: base }, disk);
    }
  } catch {
    // nothing was kept
  }
  return open(disk);
}

export const give = {
  save: ({ name, ...body }: { name: string } & Api<"Saving">) => api.PUT("/api/personas/{name}", { params: { path: { name } }, body }),
  remove: ({ name, sum }: { name: string; sum: string }) => api.DELETE("/api/personas/{name}", { params: { path: { name }, query: { sum } } }),
};
