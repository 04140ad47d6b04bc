/** Finds the command to print for calling this program. */
import { accessSync, constants } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Io } from "../process-io.ts";

/** Returns the path of the launcher; `undefined` if the shell finds the program by name, or if there is no launcher. */
export function launcherFor(env: Io["env"]): string | undefined {
  return isOnPath(env) ? undefined : launcher();
}

/** Quotes for a POSIX shell, if necessary. */
export function quoteForShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Quotes the value of an alias, which a shell parses twice: where it is defined, and where it is used. */
export const quoteForAlias = (path: string): string => quoteForShell(quoteForShell(path));

/** Returns whether `gateway` is on the PATH. */
function isOnPath(env: Io["env"]): boolean {
  return (env["PATH"] ?? "").split(delimiter).some((dir) => dir !== "" && isExecutable(join(dir, "gateway")));
}

/** Returns the path of bin/gateway above this file, built or not; `undefined` if there is none. */
function launcher(): string | undefined {
  let dir = dirname(fileURLToPath(import.meta.url));
  for (let parentFolder = 0; parentFolder < 4; parentFolder += 1) {
    const path = join(dir, "bin", "gateway");
    if (isExecutable(path)) return path;
    dir = dirname(dir);
  }
  return undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
