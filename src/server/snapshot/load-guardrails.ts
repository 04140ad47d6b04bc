/**
 * The engine of guardrails, in memory only where a document has some: it brings CEL and the tables of detectors. For that
 * to hold, nothing that a start imports may import `core/guardrails/policy` or `server/detectors` for more than types.
 */
import type { Instruments } from "../../base/index.ts";
import type { CallModel } from "../detectors/index.ts";
import type { GuardrailEngine } from "./guardrails.ts";

/** A text without the key, and without an escape that could write it, has no guardrails. */
const MAY_HOLD = /guardrails|\\/;

/** Never false of a text whose deployment has guardrails; true of some that have none. */
export const mayHoldGuardrails = (text: string): boolean => MAY_HOLD.test(text);

/** Undefined where none of the texts can hold guardrails. `instruments`: what detectors do is counted; once a process. `callModel`: left out where
 * no gateway serves, and judges cannot be asked. */
export async function loadGuardrails(
  texts: readonly string[],
  instruments?: Instruments,
  callModel?: CallModel,
): Promise<GuardrailEngine | undefined> {
  return texts.some(mayHoldGuardrails) ? await loadGuardrailEngine(instruments, callModel) : undefined;
}

export async function loadGuardrailEngine(instruments?: Instruments, callModel?: CallModel): Promise<GuardrailEngine> {
  const { openEngine } = await import("./compile-guardrails.ts");
  return openEngine(instruments, callModel);
}
