import { Problem } from "@/api/client";

/** What became of an order that was given for several names. */
export interface Each {
  done: readonly string[];
  refused: readonly { name: string; why: string }[];
}

/** Gives an order for one name after the other. What is refused for one holds the others up no more than what succeeds. */
export async function each(names: readonly string[], give: (name: string) => Promise<unknown>): Promise<Each> {
  const done: string[] = [];
  const refused: { name: string; why: string }[] = [];
  for (const name of names) {
    try {
      await give(name);
      done.push(name);
    } catch (e) {
      if (!(e instanceof Problem && (e.status === 404 || e.status === 409))) {
        throw e;
      }
      refused.push({ name, why: e.message });
    }
  }
  return { done, refused };
}
