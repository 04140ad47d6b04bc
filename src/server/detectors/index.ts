/**
 * Detectors, and the ensemble that runs them.
 *
 * - `ensemble/`: all detectors of a configuration: order, limits, cache
 * - `inference/`: detectors with a model: `nlp`, `classify` and `embed`
 * - `judge/`: detectors of type `llm`
 * - `pii/`: detectors of type `pii`
 * - `remote/`: detectors of type `remote`
 * - `wire/`: connections to servers of detectors
 */

export type { DetectorProbe } from "./detector-probe.ts";
export * from "./ensemble/index.ts";
export {
  type AskSession,
  answerWith,
  createModelDetector,
  createSessionMetrics,
  createSessions,
  isModelType,
  type SessionAnswer,
  type SessionQuestion,
  type Sessions,
  type Views,
} from "./inference/index.ts";
export { createJudge } from "./judge/judge-detector.ts";
export { createAwaitedDetector } from "./pending-detector.ts";
export {
  compileFormats,
  createPiiDetector,
  createPoolMetrics,
  createScanPool,
  engineOf,
  type ScanPool,
  secretIn,
} from "./pii/index.ts";
export type { CallModel, ModelAnswer, ModelQuestion } from "./ports.ts";
export { createRemoteDetector } from "./remote/remote-detector.ts";
export { createEndpointMetrics, createEndpoints, type Endpoints } from "./wire/index.ts";
