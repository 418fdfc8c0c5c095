import { lazy, type ComponentType } from "react";

/** Pauses before a part of the page is asked for again, in milliseconds: a server that is started again is back by then. */
export const pauses: readonly number[] = [250, 500, 1000, 2000, 4000, 8000, 15_000];

/** A part of the page that did not come. Only a page that is loaded anew asks for it again. */
export class Missing extends Error {
  constructor(cause: unknown) {
    super("A part of the page could not be loaded. Reload the page when the server is back.", { cause });
  }
}

/** Asks for code again and again, as the server may be away for a moment. */
export async function patiently<T>(load: () => Promise<T>, wait = (ms: number) => new Promise<void>((done) => setTimeout(done, ms))): Promise<T> {
  for (const pause of pauses) {
    try {
      return await load();
    } catch {
      await wait(pause);
    }
  }
  return load().catch((e: unknown) => {
    throw new Missing(e);
  });
}

/** React's lazy, for a server that may be away. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as lazy itself takes it
export function lazily<T extends ComponentType<any>>(load: () => Promise<{ default: T }>) {
  return lazy(() => patiently(load));
}
