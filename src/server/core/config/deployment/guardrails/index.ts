export type { CustomRecognizer, Detector, DetectorType } from "./detectors.ts";
export { DETECTOR_TYPES } from "./detectors.ts";
export { type Guardrails, guardrails } from "./guardrails.ts";
export type { GuardrailRule } from "./policy.ts";
