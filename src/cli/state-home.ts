/** Where a user's programs keep what they remember: `$XDG_STATE_HOME` (XDG base directories, "Basics"). */

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Io } from "./io.ts";

/** Undefined where neither HOME nor XDG_STATE_HOME names an absolute place; a relative one is to be ignored. */
export function stateHome({ env }: Pick<Io, "env">): string | undefined {
  const named = env["XDG_STATE_HOME"];
  if (named !== undefined && isAbsolute(named)) return named;
  const home = env["HOME"] || homedir();
  return isAbsolute(home) ? join(home, ".local", "state") : undefined;
}
