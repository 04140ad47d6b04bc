/**
 * Loads the guardrail engine only if a document needs it, since it brings CEL and the tables of detectors. To keep it out of the
 * startup path, no module that is loaded at start may import more than types from `core/guardrails/policy` or
 * `server/detectors`.
 */
import type { EngineOptions, GuardrailEngine } from "./compiled-guard.ts";

/** Matches the key, or an escape that could spell it. A text without a match has no guardrails. */
const MAY_HOLD = /guardrails|\\/;

/**
 * Returns true if the text may have guardrails. It is never false for a text whose deployment has some, but can be true for one
 * that has none.
 */
export const mayHoldGuardrails = (text: string): boolean => MAY_HOLD.test(text);

/** Loads the engine. Returns `undefined` if no text can contain guardrails. */
export async function loadGuardrails(
  texts: readonly string[],
  options: EngineOptions = {},
): Promise<GuardrailEngine | undefined> {
  return texts.some(mayHoldGuardrails) ? await loadGuardrailEngine(options) : undefined;
}

export async function loadGuardrailEngine(options: EngineOptions = {}): Promise<GuardrailEngine> {
  const { openEngine } = await import("./compile-guardrails.ts");
  return openEngine(options);
}
