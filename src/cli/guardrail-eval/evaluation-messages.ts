/** Messages that are shown while cases are read and scored. */

import { clipArgument, didYouMean, UsageError } from "../parse-flags.ts";
import type { Warn } from "./json-line-cases.ts";

/** Maximum number of warnings; warnings with the same key are shown once. */
const MAX_WARNINGS = 20;

export function createWarner(print: (message: string) => void): Warn {
  const shown = new Set<string>();
  return (key, message) => {
    if (shown.has(key) || shown.size >= MAX_WARNINGS) return;
    shown.add(key);
    print(`warning: ${message}`);
  };
}

/** Returns the progress, such as `scored 120 of 546 cases, 340/s, 2 s left`. */
export function progressText(done: number, total: number, noun: string, elapsedMs: number): string {
  const scoredText = `scored ${done} of ${total} ${noun}`;
  if (elapsedMs <= 0) return scoredText;
  const perSecond = (done * 1_000) / elapsedMs;
  const left = Math.ceil((total - done) / perSecond);
  return `${scoredText}, ${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)}/s, ${left} s left`;
}

/** Returns one line per detector that failed. */
export const failedTexts = (
  failed: ReadonlyMap<string, { readonly cases: number; readonly reason: string }>,
  cases: number,
): readonly string[] =>
  [...failed].map(([name, { cases: failures, reason }]) => {
    const reasonText = reason === "" ? "" : ` (${reason})`;
    return `the detector ${JSON.stringify(name)} failed in ${failures} of ${cases} cases${reasonText}: the results do not include it there`;
  });

/** Checks the name of a detector. Throws `UsageError` if no detector has it. */
export function checkDetector(wanted: string | undefined, names: readonly string[]): void {
  if (wanted === undefined || names.includes(wanted)) return;
  const hint = didYouMean(wanted, names) || `; there ${names.length === 1 ? "is" : "are"} ${names.join(", ")}`;
  throw new UsageError(`flag '-detector': no detector is called '${clipArgument(wanted)}'${hint}`);
}
