/** Folder for a user's program state: `$XDG_STATE_HOME` (XDG base directories, "Basics"). */

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Io } from "./process-io.ts";

/** Returns the folder; `undefined` if neither HOME nor XDG_STATE_HOME is an absolute path. Relative paths are ignored. */
export function stateHome({ env }: Pick<Io, "env">): string | undefined {
  const named = env["XDG_STATE_HOME"];
  if (named !== undefined && isAbsolute(named)) return named;
  const home = env["HOME"] || homedir();
  return isAbsolute(home) ? join(home, ".local", "state") : undefined;
}
