import { QueryClient } from "@tanstack/react-query";
import createFetch, { type Middleware } from "openapi-fetch";
import createHooks from "openapi-react-query";

import { took } from "@/api/cost";
import { segment } from "@/api/path";
import { Problem } from "@/api/problem";
import type { components, paths } from "@/api/schema";

/** A type of the server's, by its name in the OpenAPI document. */
export type Api<Name extends keyof components["schemas"]> = components["schemas"][Name];

export { Problem };

const raise: Middleware = {
  async onResponse({ request, response }) {
    if (response.ok) {
      if (request.method === "GET") {
        took(new URL(request.url).pathname, response.headers.get("Server-Timing"));
      }
      return;
    }
    let body: unknown;
    try {
      body = await response.clone().json();
    } catch {
      body = undefined;
    }
    throw problemOf(response.status, body);
  },
  onError: () => new Problem(0, "The server does not answer."),
};

/** The problem that an answer's body describes. */
export function problemOf(status: number, body: unknown): Problem {
  const fields = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  const detail = typeof fields.detail === "string" && fields.detail !== "" ? fields.detail : `The server answered ${status}.`;
  return new Problem(status, detail, typeof fields.try === "string" ? fields.try : undefined);
}

// Whether the page is being left: what is sent then has to outlive it.
let leaving = false;

/** Has what is sent from now on outlive the page. */
export function lastWords(): void {
  leaving = true;
  window.addEventListener("pageshow", () => (leaving = false), { once: true }); // the person comes back
}

/** Asks and orders, typed by the OpenAPI document. A failure is thrown as a Problem. */
export const api = createFetch<paths>({
  baseUrl: window.location.origin,
  fetch: (request) => window.fetch(request, leaving ? { keepalive: true } : undefined),
  pathSerializer: filled,
});
api.use(raise);

/** A path of the document with the values in its places. */
export function filled(path: string, values: Readonly<Record<string, unknown>>): string {
  return path.replace(/\{([^{}]+)\}/g, (_, name: string) => segment(word(values[name])));
}

function word(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}

/**
 * The same as hooks: `hooks.useQuery("get", "/api/runs")`. The key of a query is its
 * method, path and parameters, by which live/touches.ts has it asked again.
 */
export const hooks = createHooks(api);

/** Nothing is asked twice because time passed: events say what changed. */
export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: Number.POSITIVE_INFINITY,
        gcTime: 5 * 60_000,
        refetchOnWindowFocus: false,
        networkMode: "always", // the server is on this machine, whatever the network is
        retry: (count, error) => !(error instanceof Problem && error.status >= 400 && error.status < 500) && count < 2,
      },
    },
  });
}
