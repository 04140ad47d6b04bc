/**
 * Placeholder for a detector whose model is not in the cache yet, so that the rest of a document can be validated. A
 * snapshot that contains one is never applied.
 */
import type { Detector, DetectorInput } from "../core/guardrails/index.ts";

export function createAwaitedDetector(name: string, type: string): Detector {
  return Object.freeze({
    name,
    type,
    fingerprint: "",
    readsContext: [],
    detect: (texts: readonly DetectorInput[]) => {
      throw new Error(`the model of the detector ${name} is not loaded yet, and ${texts.length} texts wait for it`);
    },
    horizon: undefined,
  } satisfies Detector);
}
