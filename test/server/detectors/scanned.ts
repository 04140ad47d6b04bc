/** A text in the format that detectors receive. */
import type { DetectorInput, Segment } from "../../../src/server/core/guardrails/index.ts";

export const scannedOf = (text: string, windows?: DetectorInput["windows"]): DetectorInput => ({
  segment: { kind: "user", text, ref: "", turn: 0, isReadOnly: false } satisfies Segment,
  windows,
});
