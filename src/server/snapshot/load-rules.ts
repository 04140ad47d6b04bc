/**
 * The engine of access rules and CEL costs, in memory only where a document needs it: with its libraries it takes about a
 * tenth of a second of a start. For that to hold, nothing that a start imports may import `core/cel`, or `core/policy` for
 * more than its types: a bundle is split along imports, whether or not what they name is used.
 */
import type { Deployment } from "../core/config/index.ts";

export type Rules = typeof import("./compile-rules.ts");

/** A text without these keys, and without an escape that could write one, contains no expression. */
const MAY_HOLD = /access_rules|\bcel\b|\\/;

/** Never false of a text whose deployment has an expression; true of some that have none. */
export const mayHoldRules = (text: string): boolean => MAY_HOLD.test(text);

/** Returns `undefined` if no text can contain an expression. */
export async function loadRules(texts: readonly string[]): Promise<Rules | undefined> {
  return texts.some(mayHoldRules) ? await import("./compile-rules.ts") : undefined;
}

export const hasRules = ({ access_rules: rules = [], profiles = [], budgets = [] }: Deployment): boolean =>
  rules.length > 0 ||
  profiles.some(({ access_rules: own = [] }) => own.length > 0) ||
  budgets.some(({ cost }) => cost?.type === "CEL");
