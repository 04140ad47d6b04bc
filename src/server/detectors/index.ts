/** Detectors, and the ensemble that asks them. */

export * from "./ensemble/index.ts";
export { type BuiltPiiDetector, createPiiDetector } from "./pii/index.ts";
