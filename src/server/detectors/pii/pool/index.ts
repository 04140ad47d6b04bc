export { createPoolMetrics } from "./metrics.ts";
export { createScanPool, type PoolOptions, type ScanPool, type ScanSource } from "./scan-pool.ts";
