/** Guardrails that are made of words and entity types: detectors and rules. */

import type { Entry } from "./draft.ts";
import { labelOf, literally } from "./literally.ts";

export interface Guards {
  readonly detectors: readonly Entry[];
  readonly rules: readonly Entry[];
  readonly holdsStreams?: boolean;
}

export const REQUEST_KINDS = ["system", "user", "assistant", "tool_args", "tool_result"] as const;

/** Names that can stand in a CEL text and in ours. */
export const isEntity = (name: string): boolean => /^[A-Z][A-Z0-9_]{0,63}$/.test(name);

export const label = (name: string): string => labelOf(name) || "guardrail";

/** What any of the types was found of a detector: denied. */
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

/** Words as literals of a recognizer of one's own; `entity` is theirs alone. */
export function wordDetector(name: string, entity: string, words: readonly string[], kinds: readonly string[]): Entry {
  return {
    type: "pii",
    name,
    prefilter: "pure",
    entities: [entity],
    apply_to: kinds,
    on_error: "fail_closed",
    custom_recognizers: [{ name, entity, deny_list: words.map(literally) }],
  };
}
