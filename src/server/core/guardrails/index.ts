/**
 * Types and functions shared by the parts of guardrails. The policy itself, `compilePolicy(guardrails, facts)`, is in
 * `guardrails/policy`: it loads CEL, so modules that are loaded at start may import only its types.
 *
 * - `checks/`: checksums and validators of national numbers
 * - `settling/`: outcome of a judged message
 * - `streams/`: texts that arrive in pieces
 */

export { callingCodeLength } from "./calling-codes.ts";
export * from "./checks/index.ts";
export { isIso7064 } from "./checks/iso7064.ts";
export { DIGIT_FORMS, digitBlock, foldDigits } from "./digits.ts";
export {
  type DiscardedFinding,
  type Rehearsal,
  type RehearsalQuestion,
  rehearsalOf,
  rehearsalSegments,
  rehearsalVariables,
} from "./guardrail-rehearsal.ts";
export { CONTROLS, INVISIBLE, MARKS } from "./invisible-characters.ts";
export { addedJudgement, type OverlapOptions } from "./judge-during-call.ts";
export type {
  AnnotationResult,
  DetectorFindings,
  Direction,
  DroppedFinding,
  Edit,
  GuardrailPolicy,
  GuardrailVariables,
  Hop,
  InspectedSegments,
  Inspection,
  InspectionContext,
  Judgement,
  KnownFinding,
  Rewrite,
  RuleDecision,
  RuleFault,
  RuleWeight,
} from "./judgement.ts";
export { changesOf, envelopeSegments, segmentOf } from "./message-segments.ts";
export type {
  CompiledPolicy,
  DetectorFacts,
  GuardrailProblem,
  GuardrailRule,
  Guardrails,
  PolicyFacts,
} from "./policy-facts.ts";
export type { AnswerTerms, DetectionResult, Failure, Guard, GuardResult, InspectOverlap } from "./population-guard.ts";
export { utf8Length, utf8Offsets, utf16Offsets } from "./positions.ts";
export { createIssuedValues, type IssuedValue, type IssuedValues } from "./recently-encrypted-values.ts";
export { createRewriting, type Rewriting } from "./rewriting-state.ts";
export * from "./settling/index.ts";
export {
  compileReaches,
  createChannel,
  createSlide,
  type MaybePromise,
  mapMaybePromise,
  type Slide,
  type StreamTerms,
  type TextChannel,
} from "./streams/index.ts";
export * from "./types.ts";
export type { FormatOf, ValueFormat } from "./value-format.ts";
