/** The detector of type `pii`: recognizers as tables, and the scanner that runs them. */

export { type BuiltPiiDetector, createPiiDetector, UNITS_AT_ONCE } from "./detector.ts";
export { type Engine, engineOf, type Prefilter } from "./engines.ts";
export { compileFormats } from "./formats/compile.ts";
export { horizonOf } from "./match-length-bounds.ts";
export { createPoolMetrics, createScanPool, type PoolOptions, type ScanPool } from "./pool/index.ts";
export { BUILT_IN } from "./recognizers/index.ts";
export { compileScan, type Scan, type ScanOptions } from "./scan.ts";
export { secretIn } from "./secret-in.ts";
export type * from "./types.ts";
