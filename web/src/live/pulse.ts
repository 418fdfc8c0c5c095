/** When a connection was heard, and when it was asked for an answer last, in ms. */
export interface Pulse {
  heard: number;
  asked: number; // not after `heard`: nothing is asked
}

/** How often it is looked at, how long it may be silent before it is asked, and what an answer may take. */
export const beat = 2000;
const quiet = 5000;
const patience = 4000;
const mostPatience = 20_000;

/**
 * Judges the state of a connection. A server that hangs closes nothing: only a missing answer shows it. The
 * connection is silent then, and lost when the answer is missing for long.
 */
export function judge({ heard, asked }: Pulse, now: number): "fine" | "ask" | "silent" | "lost" {
  if (asked <= heard) {
    return now - heard > quiet ? "ask" : "fine";
  }
  const waited = now - asked;
  return waited > mostPatience ? "lost" : waited > patience ? "silent" : "fine";
}
