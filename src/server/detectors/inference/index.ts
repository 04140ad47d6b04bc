/** Detectors whose models run in this process: `nlp`, `classify` and `embed`. */

export {
  type BuiltModelDetector,
  createModelDetector,
  isModelType,
  MODEL_TYPES,
  type ModelType,
} from "./detector.ts";
export type { Views } from "./files.ts";
export { createSessionMetrics, type SessionMetrics } from "./session/metrics.ts";
export { createSessions, type Sessions, type SessionsOptions } from "./session/sessions.ts";
