/** Detectors, and the ensemble that runs them. */

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
export { createJudge } from "./judge/detector.ts";
export { createAwaitedDetector } from "./pending-detector.ts";
export {
  type BuiltPiiDetector,
  compileFormats,
  createPiiDetector,
  createPoolMetrics,
  createScanPool,
  engineOf,
  type ScanPool,
  secretIn,
} from "./pii/index.ts";
export type { CallModel, ModelQuestion, ModelSaid } from "./ports.ts";
export type { DetectorProbe } from "./probe.ts";
export { createRemoteDetector } from "./remote/detector.ts";
export { createEndpointMetrics, createEndpoints, type Endpoints } from "./wire/index.ts";
