/** Converts texts to strings for a detector, and its findings to findings of those texts. */
import type { DetectorInput, Finding, Window } from "../core/guardrails/index.ts";

interface Part {
  /** Index of the text that the part belongs to. */
  readonly at: number;
  readonly text: string;
  readonly start: number;
}

/** Returns the parts of a text to scan, each separately. */
export function partsOf({ segment, windows }: DetectorInput, at: number): readonly Part[] {
  const { text } = segment;
  const parts: readonly Window[] = windows ?? [{ start: 0, end: text.length }];
  return parts.map(({ start, end }) => ({
    at,
    text: start === 0 && end === text.length ? text : text.slice(start, end),
    start,
  }));
}

/** Returns the findings of the texts. `found`: findings of each part, ascending. */
export function placed(
  texts: readonly DetectorInput[],
  parts: readonly Part[],
  found: readonly (readonly Finding[])[],
): readonly (readonly Finding[])[] {
  const findings = texts.map((): Finding[] => []);
  parts.forEach(({ at, start }, part) => {
    for (const one of found[part] ?? []) {
      findings[at]?.push(start === 0 ? one : { ...one, start: start + one.start, end: start + one.end });
    }
  });
  return findings;
}
