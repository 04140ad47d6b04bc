/** Decides, counts and records the outcome of a judged message. */

export { answerFacts, type EndedInspection, inspectionFacts, sumFacts } from "./inspection-facts.ts";
export { JudgedAnswer, type RewrittenText } from "./judged-answer.ts";
export { createGuardrailMetrics, type GuardrailMetrics } from "./metrics.ts";
export {
  actedIn,
  countShadow,
  type Facts,
  type GuardrailRecord,
  type GuardrailSinks,
  type GuardrailTrail,
  type JudgedWhole,
  type RecordData,
  type RecordValue,
  type Settled,
  type ShadowCounts,
  settleJudged,
  settleWhole,
  spelledDecision,
} from "./settle.ts";
