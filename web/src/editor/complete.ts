/*
 * Which keys and values fit a place of a YAML text, by its indentation and a JSON
 * Schema. It knows no editor.
 */

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema | boolean;
  enum?: unknown[];
  type?: string | string[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
}

export interface Choice {
  label: string;
  info: string;
  kind: "key" | "value";
}

interface Place {
  path: (string | number)[]; // of keys, and 0 for an entry of a list
  key?: string; // a value of this key is being written
  typed: string; // what is there already
}

const lineShape = /^(\s*)((?:- +)*)(?:([A-Za-z_][\w-]*)(:))?/;

/** Where in the text a position is. Flow style ({a: b}) and block scalars are not looked into. */
export function placeOf(text: string, at: number): Place | undefined {
  const lines = text.slice(0, at).split("\n");
  const line = lines.pop() ?? "";
  const here = /^(\s*(?:- +)*)(?:([A-Za-z_][\w-]*):\s+)?([\w-]*)$/.exec(line);
  if (!here) {
    return undefined;
  }
  const [, lead = "", key, typed = ""] = here;
  const path: (string | number)[] = [];
  let column = lead.length;
  // A dash on this line opens an entry: what holds it stands left of the dash.
  const dashes = [...lead.matchAll(/-/g)].map((m) => m.index);
  while (dashes.length > 0) {
    path.unshift(0);
    column = dashes.pop() ?? 0;
  }
  for (let i = lines.length - 1; i >= 0 && column >= 0; i--) {
    const l = lines[i] ?? "";
    if (l.trim() === "" || l.trimStart().startsWith("#")) {
      continue;
    }
    const m = lineShape.exec(l);
    const [, spaces = "", dash = "", name] = m ?? [];
    const indent = spaces.length;
    const own = indent + dash.length; // the column of the key
    if (path[0] !== 0 || dash === "") {
      if (name !== undefined && own < column) {
        path.unshift(name);
        column = own;
      } else if (name !== undefined && path[0] === 0 && own === column) {
        path.unshift(name); // a list may stand in the column of its key
        column = own;
      }
    }
    if (dash !== "" && indent < column && own <= column) {
      path.unshift(0);
      column = indent;
    } else if (dash === "" && name === undefined && indent < column && indent === 0) {
      return undefined; // text
    }
    if (column === 0 && path[0] !== 0) {
      break;
    }
  }
  return { path, typed, ...(key === undefined ? {} : { key }) };
}

/** The choices for a place. */
export function choices(schema: Schema, place: Place): Choice[] {
  const found = walk(schema, [...place.path, ...(place.key === undefined ? [] : [place.key])]);
  const all = new Map<string, Choice>();
  for (const s of found) {
    for (const part of spread(schema, s)) {
      if (place.key === undefined) {
        for (const [label, p] of Object.entries(part.properties ?? {})) {
          all.set(label, { label, info: plain(p.description ?? spread(schema, p).find((o) => o.description)?.description ?? ""), kind: "key" });
        }
      } else {
        const values = part.enum ?? (part.type === "boolean" ? [true, false] : []);
        for (const v of values.filter((v) => typeof v === "string" || typeof v === "boolean" || typeof v === "number")) {
          all.set(String(v), { label: String(v), info: "", kind: "value" });
        }
      }
    }
  }
  return [...all.values()];
}

/** A description without the marks of Markdown, for a place that shows text. */
function plain(text: string): string {
  return text.replaceAll("`", "");
}

/** The schemas that a path leads to. */
function walk(root: Schema, path: readonly (string | number)[]): Schema[] {
  let now: Schema[] = [root];
  for (const step of path) {
    now = now.flatMap((s) =>
      spread(root, s).flatMap((part) => {
        const next = step === 0 ? part.items : (part.properties?.[String(step)] ?? part.additionalProperties);
        return typeof next === "object" ? [next] : [];
      }),
    );
  }
  return now;
}

/** A schema and what it refers to or is made of. */
function spread(root: Schema, s: Schema, depth = 0): Schema[] {
  if (depth > 8) {
    return [];
  }
  const name = /^#\/\$defs\/(.+)$/.exec(s.$ref ?? "")?.[1];
  const target = name === undefined ? undefined : root.$defs?.[name];
  return [s, ...[...(target ? [target] : []), ...(s.oneOf ?? []), ...(s.anyOf ?? []), ...(s.allOf ?? [])].flatMap((o) => spread(root, o, depth + 1))];
}
