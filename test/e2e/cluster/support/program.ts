/** The built program, and its verbs run to their end. */
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { within } from "../../support/wait.ts";
import { launch } from "./process.ts";
import { GATEWAY } from "./settings.ts";

let isBuilt = false;

/** Runs once per process; does nothing when dist/ matches the source. */
export function buildProgram(): void {
  if (isBuilt) return;
  execFileSync(process.execPath, [join(dirname(GATEWAY), "setup.cjs")], { stdio: "inherit" });
  isBuilt = true;
}

interface VerbEnd {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const LIMIT_MS = 60_000;

export async function runVerb(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<VerbEnd> {
  const { child, ended } = launch({ command: [process.execPath, GATEWAY, ...args], env });
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (text: string) => {
    stdout += text;
  });
  child.stderr?.on("data", (text: string) => {
    stderr += text;
  });
  const { status } = await within(`the end of gateway ${args.slice(0, 2).join(" ")}`, ended, LIMIT_MS);
  return { status, stdout, stderr };
}
