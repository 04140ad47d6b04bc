/** Decides, counts and records the outcome of a judged message. */

export { answerFacts, type EndedInspection, inspectionFacts, sumFacts } from "./inspection-facts.ts";
export { JudgedAnswer, type RewrittenText } from "./judged-answer.ts";
export { createGuardrailMetrics, type GuardrailMetrics } from "./metrics.ts";
export {
  type AnswerResult,
  addFindingCounts,
  type Facts,
  type FindingCounts,
  formatDecision,
  formatDecisions,
  type GuardrailRecord,
  type GuardrailSinks,
  type GuardrailTrail,
  type RecordData,
  type RecordValue,
  type SettledMessage,
  settleAnswerResult,
  settleMessage,
} from "./settle.ts";
