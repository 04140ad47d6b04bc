/** A text in the format that detectors receive. */
import type { Scanned, Segment } from "../../../src/server/core/guardrails/index.ts";

export const scannedOf = (text: string, windows?: Scanned["windows"]): Scanned => ({
  segment: { kind: "user", text, ref: "", turn: 0, isReadOnly: false } satisfies Segment,
  windows,
});
