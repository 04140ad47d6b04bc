/** Decides whether human-readable output is colored. */

import type { Io } from "./process-io.ts";

/** Follows NO_COLOR (no-color.org). FORCE_COLOR enables color even if stdout is not a terminal. */
export function isColored(io: Io): boolean {
  const { NO_COLOR: none, FORCE_COLOR: forced, TERM: terminal } = io.env;
  if (none !== undefined && none !== "") return false;
  if (forced !== undefined && forced !== "" && forced !== "0") return true;
  return io.isTerminal("stdout") && terminal !== "dumb";
}
