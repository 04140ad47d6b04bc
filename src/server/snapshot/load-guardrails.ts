/**
 * The engine of guardrails, in memory only where a document has some: it brings CEL and the tables of detectors. For that
 * to hold, nothing that a start imports may import `core/guardrails/policy` or `server/detectors` for more than types.
 */
import type { EngineOptions, GuardrailEngine } from "./compiled-guard.ts";

/** A text without the key, and without an escape that could write it, has no guardrails. */
const MAY_HOLD = /guardrails|\\/;

/** Never false of a text whose deployment has guardrails; true of some that have none. */
export const mayHoldGuardrails = (text: string): boolean => MAY_HOLD.test(text);

/** Returns `undefined` if no text can contain guardrails. */
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
