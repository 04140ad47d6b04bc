/** Runs the programs that a release needs. */

import { execFileSync, spawnSync } from "node:child_process";

/** Maximum time of a test command, in milliseconds. */
const TEST_LIMIT_MS = 3 * 3_600_000;
/** Maximum time of any other command, in milliseconds. An install fetches a few hundred packages. */
const LIMIT_MS = 900_000;

/** Returns the output of a program without the last line break. Throws if the program fails; its errors go to stderr. */
export function outputOf(cwd: string, program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    timeout: LIMIT_MS,
    maxBuffer: 64 << 20,
  }).trimEnd();
}

/** Returns whether the program ends with status 0. Its output is not shown. */
export function succeeds(cwd: string, program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args, { cwd, stdio: "ignore", timeout: LIMIT_MS }).status === 0;
}

/** Runs a test command with its output shown, and returns whether it passed. */
export function passes(cwd: string, program: string, ...args: readonly string[]): boolean {
  return (
    spawnSync(program, args, { cwd, stdio: ["ignore", "inherit", "inherit"], timeout: TEST_LIMIT_MS }).status === 0
  );
}

export const git = (cwd: string, ...args: readonly string[]): string => outputOf(cwd, "git", ...args);

/** Runs Node.js with these arguments and returns the output. */
export const node = (cwd: string, ...args: readonly string[]): string => outputOf(cwd, process.execPath, ...args);

/** Runs npm, by default the one that runs the release, and returns the output. */
export function npm(cwd: string, ...args: readonly string[]): string {
  const own = process.env["npm_execpath"] ?? "";
  return /npm-cli\.c?js$/.test(own) ? node(cwd, own, ...args) : outputOf(cwd, "npm", ...args);
}
