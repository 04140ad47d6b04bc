/** Whether what a verb prints for people is coloured. */

import type { Io } from "./io.ts";

/** Conventions: no-color.org; FORCE_COLOR asks for it where no terminal is. */
export function isColored(io: Io): boolean {
  const { NO_COLOR: none, FORCE_COLOR: forced, TERM: terminal } = io.env;
  if (none !== undefined && none !== "") return false;
  if (forced !== undefined && forced !== "" && forced !== "0") return true;
  return io.isTerminal("stdout") && terminal !== "dumb";
}
