/** Detectors, and the ensemble that asks them. */

export * from "./ensemble/index.ts";
export {
  type BuiltPiiDetector,
  createPiiDetector,
  createPoolMetrics,
  createScanPool,
  engineOf,
  RE2_VERSION,
  type ScanPool,
} from "./pii/index.ts";
