/** Detectors and rules for lists of words and entity types. */

import type { Entry } from "./deployment-draft.ts";
import { escapeReferences, labelOf } from "./escape-source-text.ts";

export interface Guards {
  readonly detectors: readonly Entry[];
  readonly rules: readonly Entry[];
  readonly holdsStreams?: boolean;
}

export const REQUEST_KINDS = ["system", "user", "assistant", "tool_args", "tool_result"] as const;

/** Returns whether a name can be an entity type in CEL and in our documents. */
export const isEntity = (name: string): boolean => /^[A-Z][A-Z0-9_]{0,63}$/.test(name);

export const label = (name: string): string => labelOf(name) || "guardrail";

/** Returns a rule that denies if a detector finds one of the types. */
export const denyRule = (name: string, detector: string, types: readonly string[]): Entry => ({
  name,
  when: `annotations.exists(a, ${anyOf(types)})`,
  requires: [detector],
  action: "deny",
});

export const redactRule = (name: string, detector: string, types: readonly string[]): Entry => ({
  name,
  when: `annotations.exists(a, ${anyOf(types)})`,
  requires: [detector],
  action: "redact",
  select: anyOf(types),
});

const anyOf = (types: readonly string[]): string =>
  `a.type in [${types.map((type) => JSON.stringify(type)).join(", ")}]`;

/** Returns a detector with a custom recognizer for these words. No other detector has `entity`. */
export function wordDetector(name: string, entity: string, words: readonly string[], kinds: readonly string[]): Entry {
  return {
    type: "pii",
    name,
    prefilter: "pure",
    entities: [entity],
    apply_to: kinds,
    on_error: "fail_closed",
    custom_recognizers: [{ name, entity, deny_list: words.map(escapeReferences) }],
  };
}
