import { execFileSync } from "node:child_process";
import { existsSync, linkSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Where the cmux of the tests is: the test binary, which has the scripted agent too. */
export const bin = join(import.meta.dirname, "..", "..", "bin", "e2e");

export default function setup(): void {
  mkdirSync(bin, { recursive: true });
  execFileSync("go", ["test", "-c", "-vet=off", "-ldflags=-s -w", "-o", join(bin, "cmux.test"), "./cmd/cmux"], {
    cwd: join(import.meta.dirname, "..", ".."),
    stdio: "inherit",
  });
  const link = join(bin, "cmux");
  if (existsSync(link)) {
    rmSync(link);
  }
  linkSync(join(bin, "cmux.test"), link); // no symbolic one: cmux starts itself by the name of its file
}
