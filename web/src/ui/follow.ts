/** A scroll of a list whose newest is at its end, in pixels. */
export interface Scrolled {
  was: number; // where the list was, or put itself last
  top: number; // where it is now
  below: number; // how much of it is out of sight below
}

/** So near to its end a list is taken to be there. */
const near = 40;

/**
 * Whether a list follows its newest after a scroll. Where the list is as it put itself, nobody has scrolled: rows that
 * turn out higher do not end the following. A reader who goes up ends it, and one who comes back to the end begins it.
 */
export function follows(did: boolean, { was, top, below }: Scrolled): boolean {
  if (Math.abs(top - was) < 1) {
    return did;
  }
  return top < was ? below < 1 : below < near;
}
