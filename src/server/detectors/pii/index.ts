export { type Engine, engineOf, type Prefilter, RE2_VERSION } from "./engines.ts";
export { compileScan, type Scan, type ScanOptions } from "./scan.ts";
export type * from "./types.ts";
