/** Detectors, and the ensemble that asks them. */

export * from "./ensemble/index.ts";
export {
  type BuiltPiiDetector,
  createPiiDetector,
  createPoolMetrics,
  createScanPool,
  type ScanPool,
} from "./pii/index.ts";
