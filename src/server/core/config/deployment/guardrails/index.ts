export type { Detector } from "./detectors.ts";
export { DETECTOR_TYPES } from "./detectors.ts";
export type { GuardrailRule } from "./guardrail-rules.ts";
export { type Guardrails, guardrails } from "./guardrails.ts";
