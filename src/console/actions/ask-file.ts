/** Names of files of this machine, as dialogs and the prompt ask for them. */

import type { Intent } from "../model/view.ts";

/** Longer than any path that a system takes. */
const MAX_FILE_LENGTH = 4_096;

export const fileWhy = (file: string): string | undefined =>
  file.trim() === ""
    ? "a file name is needed"
    : file.length > MAX_FILE_LENGTH
      ? `the file name is longer than ${MAX_FILE_LENGTH} characters`
      : undefined;

/** Asks for the name of a file of this machine; without one nothing goes on. */
export const askFile = (label: string, initial: string, go: (file: string) => Intent): Intent => ({
  kind: "ask",
  label,
  initial,
  isFile: true,
  next: (file) => ifNamed(file, () => go(file)),
});

/** Asks no further where nothing was named. */
function ifNamed(file: string, next: () => Intent): Intent {
  const why = fileWhy(file);
  return why === undefined ? next() : { kind: "flash", words: `nothing done: ${why}`, tone: "warn" };
}
