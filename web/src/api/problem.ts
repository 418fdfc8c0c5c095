/** What the server, or the way to it, says is wrong. `way` is the command that helps. */
export class Problem extends Error {
  constructor(
    readonly status: number, // of HTTP; 0: the server was not reached
    detail: string,
    readonly way?: string,
  ) {
    super(detail);
    this.name = "Problem";
  }
}
