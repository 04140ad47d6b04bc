export {
  type BuildDetector,
  type Built,
  type CompiledEnsemble,
  compileEnsemble,
  type EnsembleOptions,
  kindsOf,
} from "./compile-ensemble.ts";
export { createEnsembleMetrics, type EnsembleMetrics } from "./metrics.ts";
export { createScanCache, type ScanCache } from "./scan-cache.ts";
export type { Ensemble, EnsembleProblem, Member, RunOptions, Schedule } from "./types.ts";
