/** Detectors with their own model, in this process or on a server: `nlp`, `classify` and `embed`. */

export { type BuiltModelDetector, createModelDetector, isModelType } from "./model-detector.ts";
export type { Views } from "./model-files.ts";
export { createSessionMetrics } from "./session/metrics.ts";
export { type AskSession, answerWith, type SessionAnswer, type SessionQuestion } from "./session/shared.ts";
export { createSessions, type Sessions, type SessionsOptions } from "./session/shared-sessions.ts";
