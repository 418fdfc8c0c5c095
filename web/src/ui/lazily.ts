import { createElement, lazy, useState, type ComponentType, type ReactNode } from "react";

/** Pauses before a part of the page is asked for again, in milliseconds: a server that is started again is back by then. */
export const pauses: readonly number[] = [250, 500, 1000, 2000, 4000, 8000, 15_000];

/** A part of the page that did not come, however often it was asked for. */
export class Missing extends Error {
  constructor(cause: unknown) {
    super("A part of the page could not be loaded. Reload the page when the server is back.", { cause });
  }
}

const later = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

/** Asks for code again and again, as the server may be away for a moment. */
export async function patiently<T>(load: () => Promise<T>, wait = later): Promise<T> {
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

/** A component whose code comes when it is drawn first, or by `preload`. */
export interface Lazily<P> {
  (props: P): ReactNode;
  preload: () => void;
}

/** How long what did not come stays so, in milliseconds: React draws it again at once before it tells of the fault. */
export const settled = 1500;

/** React's lazy, for a server that may be unreachable. A loaded module is drawn at once; a module that failed to load is requested again by the next component that draws it. */
export function lazily<P extends object>(load: () => Promise<{ default: ComponentType<P> }>, wait = later): Lazily<P> {
  let come: ComponentType<P> | undefined;
  let coming: Promise<{ default: ComponentType<P> }> | undefined;
  const get = () =>
    (coming ??= patiently(load, wait).then(
      (m) => {
        come = m.default;
        return m;
      },
      (err: unknown) => {
        void wait(settled).then(() => {
          coming = undefined;
          deferred = defer();
        });
        throw err;
      },
    ));
  const defer = () => lazy(get) as unknown as ComponentType<P>; // one that has failed is never asked again
  let deferred = defer();
  const Lazily = (props: P) => {
    const [which] = useState(() => come ?? deferred); // the same for as long as it is there
    return createElement(which, props);
  };
  return Object.assign(Lazily, { preload: () => void get().catch(() => undefined) }); // who draws it meets the fault
}
