export * from "./checks/index.ts";

/**
 * Types and functions shared by the parts of guardrails. The policy itself, `compilePolicy(guardrails, facts)`, is in
 * `guardrails/policy`: it loads CEL, so modules that are loaded at start may import only its types.
 */

export { callingCodeLength } from "./calling-codes.ts";
export { isIso7064 } from "./checks/iso7064.ts";
export { DIGIT_FORMS, digitBlock, foldDigits } from "./digits.ts";
export type {
  CompiledPolicy,
  DetectorFacts,
  GuardrailProblem,
  GuardrailRule,
  Guardrails,
  PolicyFacts,
} from "./facts.ts";
export type { FormatOf, ValueFormat } from "./formats.ts";
export type { AnswerTerms, Failure, Found, Guard, Guarded, InspectBeside } from "./guard.ts";
export { CONTROLS, INVISIBLE, MARKS } from "./invisible.ts";
export { createIssued, type Issued, type IssuedValue } from "./issued.ts";
export type {
  Annotated,
  DetectorFindings,
  Direction,
  Dropped,
  Edit,
  GuardrailPolicy,
  GuardrailVariables,
  Hop,
  Inspected,
  Inspection,
  Judgement,
  KnownFinding,
  Occasion,
  Rewrite,
  RuleDecision,
  RuleFault,
  RuleWeight,
} from "./judgement.ts";
export { changesOf, envelopeSegments, segmentOf } from "./message-segments.ts";
export { type Beside, judgedBeside } from "./overlap.ts";
export { utf8Length, utf8Offsets, utf16Offsets } from "./positions.ts";
export {
  MOST_TOLD,
  type Rehearsal,
  type RehearsalQuestion,
  type Rehearsed,
  type Removed,
  rehearsedSegments,
  rehearsedVariables,
  type ToldDetector,
  type ToldFinding,
  told,
} from "./rehearsal.ts";
export { createRewriting, type Rewriting } from "./rewriting.ts";
export * from "./settling/index.ts";
export {
  after,
  type ChannelPorts,
  compileReaches,
  createChannel,
  createSlide,
  type Later,
  type ReachSet,
  type Slide,
  type SlidePorts,
  type StreamTerms,
  type TextChannel,
} from "./streams/index.ts";
export * from "./types.ts";
