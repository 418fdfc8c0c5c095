import type { Api } from "@/api/client";
import { segment } from "@/api/path";

export type Order = Api<"KnownOrder">;
export type Argument = Api<"Argument">;

/** What was filled in, by the argument's name. */
export type Filled = Readonly<Record<string, string>>;

export interface Call {
  method: Order["method"];
  url: string; // a path of this server, with its query
  body: Record<string, unknown> | undefined;
}

/** The names of what must be given and is not. */
export function missing(order: Order, filled: Filled): string[] {
  return order.takes.filter((a) => a.required && typed(a, filled) === "").map((a) => a.name);
}

/** What is wrong with what was filled in for an argument; undefined: nothing that can be known here. */
export function wrong(a: Argument, filled: Filled): string | undefined {
  const text = typed(a, filled);
  if (text === "") {
    return undefined;
  }
  if (a.in === "path" && (text === "." || text === "..")) {
    return `Nothing is called "${text}".`;
  }
  if ((a.type === "integer" || a.type === "number") && Number.isNaN(Number(text))) {
    return "This is no number.";
  }
  const value = a.type === "object" || isList(a) ? json(text) : undefined;
  if (a.type === "object" && (typeof value !== "object" || value === null || Array.isArray(value))) {
    return "This must be an object as JSON.";
  }
  return isList(a) && !Array.isArray(value) ? "This must be a list as JSON." : undefined;
}

/** An array that lines of text cannot say: it is given as JSON. */
export function isList(a: Argument): boolean {
  return a.type === "array" && (a.of === "object" || a.of === "array");
}

/** What is to be typed for an argument that is JSON: its fields, those that must be there first. */
export function shape(a: Argument): string {
  const must = a.fields.filter((f) => !f.endsWith("?"));
  const object = `{${(must.length > 0 ? must : a.fields.map((f) => f.slice(0, -1))).map((f) => `"${f}": …`).join(", ")}}`;
  return a.type === "array" ? (a.of === "array" ? "[[…]]" : `[${object}]`) : object;
}

/** What is known of an argument that is JSON, in words. */
export function told(a: Argument): string {
  if (a.fields.length === 0) {
    return a.about;
  }
  const must = a.fields.filter((f) => !f.endsWith("?"));
  const may = a.fields.filter((f) => f.endsWith("?")).map((f) => f.slice(0, -1));
  const list = [must.length > 0 ? `with ${must.join(", ")}` : "", may.length > 0 ? `${must.length > 0 ? "and perhaps" : "perhaps with"} ${may.join(", ")}` : ""].filter((p) => p !== "").join(", ");
  return `${a.about === "" ? "" : `${a.about}. `}JSON: ${a.type === "array" ? "a list of objects" : "an object"} ${list}.`;
}

/** Where the values of an argument are known from; undefined: nowhere. */
export function knownFrom(order: Order, a: Argument): "agents" | "rooms" | "runs" | "tasks" | "nodes" | undefined {
  if (a.in === "path") {
    if (a.name === "node") {
      return "nodes";
    }
    const group = /^\/api\/(agents|rooms|runs|tasks)\/\{([a-z]+)\}/.exec(order.path);
    return group?.[2] === a.name ? (group[1] as "agents" | "rooms" | "runs" | "tasks") : undefined;
  }
  return a.name === "agent" ? "agents" : undefined;
}

/** The request that an order with its arguments is. */
export function callOf(order: Order, filled: Filled): Call {
  let url = order.path;
  const query = new URLSearchParams();
  let body: Record<string, unknown> | undefined;
  for (const a of order.takes) {
    const text = typed(a, filled);
    if (a.in === "path") {
      url = url.replace(`{${a.name}}`, segment(text));
      continue;
    }
    if (text === "") {
      continue;
    }
    if (a.in === "query") {
      query.set(a.name, text);
    } else {
      body = { ...body, [a.name]: a.type === "string" ? (filled[a.name] ?? "") : valueOf(a, text) };
    }
  }
  const search = query.toString();
  if (body === undefined && order.takes.some((a) => a.in === "body")) {
    body = {};
  }
  return { method: order.method, url: search === "" ? url : `${url}?${search}`, body };
}

function typed(a: Argument, filled: Filled): string {
  return (filled[a.name] ?? "").trim();
}

/** The typed text as a value of the argument's type. An invalid text is sent as it is, and the server refuses it. */
function valueOf(a: Argument, text: string): unknown {
  switch (a.type) {
    case "boolean":
    case "integer":
    case "number":
      return scalar(a.type, text);
    case "array": {
      if (isList(a)) {
        return json(text) ?? text;
      }
      // A pattern may begin with a bracket too: only a list is taken for one.
      const list = text.startsWith("[") ? json(text) : undefined;
      const type = a.of;
      return Array.isArray(list)
        ? list
        : text
            .split("\n")
            .map((l) => l.trim())
            .filter((l) => l !== "")
            .map((l) => scalar(type, l));
    }
    case "object":
      return json(text) ?? text;
    case "string":
      return text;
  }
}

function scalar(type: Argument["of"], text: string): unknown {
  switch (type) {
    case "boolean":
      return text === "true";
    case "integer":
    case "number": {
      const n = Number(text);
      return Number.isNaN(n) ? text : n;
    }
    default:
      return text;
  }
}

/** The JSON value of a text; undefined: the text is not JSON. */
function json(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
