/**
 * The first scanned texts take ten times as long as later ones: the engine compiles each expression at its first run, and
 * optimizes it at a later one. So all are run over a text that makes each of them search.
 */
import type { Scan } from "./pii-scan.ts";
import type { Recognizer } from "./types.ts";

/** Number of UTF-16 units per step; cold, each takes up to five milliseconds. */
const PIECE_UNITS = 256;
/** Maximum number of keywords per pattern: one would do, but others begin differently. */
const MOST_KEYWORDS = 3;
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
    pattern.kind === "shape" ? [] : pattern.keywords.slice(0, MOST_KEYWORDS),
  );
  return `4111 1111 1111 1111, ${words.map((word) => `my ${word} is ${word}1234 567-89 of me@example.com,`).join(" ")}`;
}
