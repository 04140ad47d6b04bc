/** Detector of type `pii`: tables of recognizers, and the scanner that runs them. */

export { type Engine, engineOf, type Prefilter } from "./engines.ts";
export { compileFormats } from "./formats/compile-formats.ts";
export { createPiiDetector, UNITS_AT_ONCE } from "./pii-detector.ts";
export { compileScan, type Scan } from "./pii-scan.ts";
export { createPoolMetrics, createScanPool, type PoolOptions, type ScanPool } from "./pool/index.ts";
export { BUILT_IN } from "./recognizers/index.ts";
export { secretIn } from "./secret-in.ts";
export type * from "./types.ts";
