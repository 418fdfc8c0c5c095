/** From where to where in a text a place of a file (line and column from 1) is marked: to the end of its line. */
export function offsetOf(text: string, line: number, column: number): [from: number, to: number] {
  let start = 0;
  for (let l = 1; l < line; l++) {
    const next = text.indexOf("\n", start);
    if (next < 0) {
      return [text.length, text.length];
    }
    start = next + 1;
  }
  const stop = text.indexOf("\n", start);
  const end = stop < 0 ? text.length : stop;
  return [Math.min(start + Math.max(0, column - 1), end), end];
}
