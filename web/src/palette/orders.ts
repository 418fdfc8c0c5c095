import type { Api } from "@/api/client";

export type Order = Api<"KnownOrder">;

/** What was filled in, by the argument's name. */
export type Filled = Readonly<Record<string, string>>;

export interface Call {
  method: Order["method"];
  url: string; // a path of this server, with its query
  body: Record<string, unknown> | undefined;
}

/** What is wrong with what was filled in; empty: nothing. */
export function missing(order: Order, filled: Filled): string[] {
  return order.takes.filter((a) => a.required && (filled[a.name] ?? "").trim() === "" && a.type !== "boolean").map((a) => a.name);
}

/** The request that an order with its arguments is. */
export function callOf(order: Order, filled: Filled): Call {
  let url = order.path;
  const query = new URLSearchParams();
  let body: Record<string, unknown> | undefined;
  for (const a of order.takes) {
    const typed = filled[a.name] ?? "";
    if (a.in === "path") {
      url = url.replace(`{${a.name}}`, encodeURIComponent(typed.trim()));
      continue;
    }
    if (typed.trim() === "" && !(a.required && a.type === "boolean")) {
      continue;
    }
    if (a.in === "query") {
      query.set(a.name, typed.trim());
    } else {
      body = { ...body, [a.name]: valueOf(a, typed) };
    }
  }
  const search = query.toString();
  if (body === undefined && order.takes.some((a) => a.in === "body")) {
    body = {};
  }
  return { method: order.method, url: search === "" ? url : `${url}?${search}`, body };
}

/** What was typed, as the type that the server takes. A text that is none is left to the server to refuse. */
function valueOf(a: Api<"Argument">, typed: string): unknown {
  switch (a.type) {
    case "boolean":
      return typed === "true";
    case "integer":
    case "number": {
      const n = Number(typed);
      return Number.isNaN(n) ? typed : n;
    }
    case "array": {
      const text = typed.trim();
      return text.startsWith("[") ? json(text) : text.split("\n").map((l) => l.trim()).filter((l) => l !== "");
    }
    case "object":
      return json(typed);
    case "string":
      return typed;
  }
}

function json(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
