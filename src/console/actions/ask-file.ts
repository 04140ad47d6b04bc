/** File name questions of dialogs and the prompt. */

import type { Intent } from "../model/view.ts";

/** Maximum length of a file name; longer than any path that a system accepts. */
const MAX_FILE_LENGTH = 4_096;

export const fileProblem = (file: string): string | undefined =>
  file.trim() === ""
    ? "a file name is needed"
    : file.length > MAX_FILE_LENGTH
      ? `the file name is longer than ${MAX_FILE_LENGTH} characters`
      : undefined;

/** Asks for a local file name; does nothing without one. */
export const askFile = (label: string, initial: string, go: (file: string) => Intent): Intent => ({
  kind: "ask",
  label,
  initial,
  isFile: true,
  next: (file) => ifNamed(file, () => go(file)),
});

/** Continues only if a file was named. */
function ifNamed(file: string, next: () => Intent): Intent {
  const reason = fileProblem(file);
  return reason === undefined ? next() : { kind: "flash", message: `canceled: ${reason}`, tone: "warn" };
}
