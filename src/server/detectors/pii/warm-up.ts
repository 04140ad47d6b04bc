/**
 * Warms up scans, since the first texts take ten times as long as later ones: the engine compiles each expression at
 * its first run, and optimizes it later. So all expressions are run over a text in which each of them searches.
 */
import type { Scan } from "./pii-scan.ts";
import type { Recognizer } from "./types.ts";

/** Number of UTF-16 units per step. Each step takes up to five milliseconds at first. */
const PIECE_UNITS = 256;
/** Maximum number of keywords per pattern. One would suffice, but others begin differently. */
const MAX_KEYWORDS = 3;
const PASSES = 2;

/** Warms up the scan; each step scans a short text. */
export function* warmUp(recognizers: readonly Recognizer[], scan: Scan): Generator<void> {
  const sample = sampleOf(recognizers);
  for (let pass = 0; pass < PASSES; pass++) {
    for (let at = 0; at < sample.length; at += PIECE_UNITS) {
      scan(sample.slice(at, at + PIECE_UNITS));
      yield;
    }
  }
}

function sampleOf(recognizers: readonly Recognizer[]): string {
  const patterns = recognizers.flatMap((recognizer) => recognizer.patterns);
  const words = patterns.flatMap((pattern) =>
    pattern.kind === "shape" ? [] : pattern.keywords.slice(0, MAX_KEYWORDS),
  );
  return `4111 1111 1111 1111, ${words.map((word) => `my ${word} is ${word}1234 567-89 of me@example.com,`).join(" ")}`;
}
