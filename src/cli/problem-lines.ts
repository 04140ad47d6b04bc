/** Lines of a refused configuration: which are warnings, how many there are of each, and their output. */

import { escapeControlsOfLines } from "../base/index.ts";
import type { Io } from "./process-io.ts";

/** Returns whether a line of the loader is a warning: the word follows the position and the path of the key. */
export const isWarning = (line: string): boolean =>
  /^.*?(?::\d+:\d+: (?:[^ ]*: )?|: catalog_overlay_paths: )warning: /.test(line);

/** Prints the lines on stderr, and then what was refused with the number of problems, and of warnings if there are any. */
export function printRefusal(lines: readonly string[], what: string, io: Io): void {
  for (const line of lines) io.stderr.write(`${escapeControlsOfLines(line)}\n`);
  const warnings = lines.filter(isWarning).length;
  const counts = [counted(lines.length - warnings, "problem"), ...(warnings > 0 ? [counted(warnings, "warning")] : [])];
  io.stderr.write(`gateway: ${what}: ${counts.join(", ")}\n`);
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
