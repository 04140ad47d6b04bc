/**
 * Loads the engine of access rules and CEL costs only if a document needs it: with its libraries it takes about 0.1 s at start.
 * To keep it out of the startup path, no module that is loaded at start may import `core/cel`, or more than types from
 * `core/policy`: a bundle is split along imports, whether or not the imported names are used.
 */
import type { Deployment } from "../core/config/index.ts";

export type Rules = typeof import("./compile-rules.ts");

/** Matches the keys, or an escape that could spell one. A text without a match contains no expression. */
const MAY_HOLD = /access_rules|\bcel\b|\\/;

/**
 * Returns true if the text may have an expression. It is never false for a text whose deployment has one, but can be true for
 * one that has none.
 */
export const mayHoldRules = (text: string): boolean => MAY_HOLD.test(text);

/** Loads the rules engine. Returns `undefined` if no text can contain an expression. */
export async function loadRules(texts: readonly string[]): Promise<Rules | undefined> {
  return texts.some(mayHoldRules) ? await import("./compile-rules.ts") : undefined;
}

export const hasRules = ({ access_rules: rules = [], profiles = [], budgets = [] }: Deployment): boolean =>
  rules.length > 0 ||
  profiles.some(({ access_rules: own = [] }) => own.length > 0) ||
  budgets.some(({ cost }) => cost?.type === "CEL");
