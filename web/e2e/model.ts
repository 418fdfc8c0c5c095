/*
 * The scripted model, which the real Claude Code asks.
 */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, type Organization } from "./organization";
import { bin } from "./setup";

const root = join(import.meta.dirname, "..", "..");

/** Has the model go on behind the steps that hold at a gate. */
export async function release(org: Organization, gate: string): Promise<void> {
  const address = readFileSync(join(org.dir, "address"), "utf8").trim();
  expect((await fetch(`http://${address}/gates/${gate}`, { method: "POST" })).ok).toBe(true);
}

/** Starts a model that says what the script has, and has Claude Code ask it: nothing of the person's is used. */
export async function startModel(org: Organization, script: string): Promise<ChildProcess> {
  const modeld = join(bin, "modeld");
  const agents = join(root, ".agents-cli", "node_modules", ".bin");
  execFileSync("go", ["build", "-trimpath", "-o", modeld, "./agents/testkit/modeltest/modeld"], { cwd: root, stdio: "inherit" });
  const at = (name: string) => join(org.dir, name);
  org.write({ "../model.yml": script });
  const env = { ...org.env, PATH: `${bin}:${agents}:${process.env.PATH ?? ""}` };
  const args = ["-scripts", at("model.yml"), "-home", at("person"), "-env-file", at("env"), "-addr-file", at("address"), org.root];
  const model = spawn(modeld, args, { env, stdio: ["ignore", "ignore", "inherit"] });
  await expect.poll(() => existsSync(at("address")) || model.exitCode).toBe(true);
  for (const [, name = "", value = ""] of readFileSync(at("env"), "utf8").matchAll(/^export (\w+)='(.*)'$/gm)) {
    org.env[name] = value;
  }
  return model;
}
