export { createPoolMetrics } from "./metrics.ts";
export { createScanPool, type PoolOptions, type ScanPool } from "./scan-pool.ts";
