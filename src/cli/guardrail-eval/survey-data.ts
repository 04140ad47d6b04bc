/** First pass over the data: checks every line, counts the cases, and collects the marked types and labels. */

import { utf8Length } from "../../server/core/guardrails/index.ts";
import { didYouMean } from "../parse-flags.ts";
import type { EvalCase } from "./evaluation-case.ts";
import type { NameNormalizer } from "./type-names.ts";

export interface Survey {
  readonly cases: number;
  readonly textBytes: number;
  readonly types: ReadonlySet<string>;
  readonly labels: ReadonlySet<string>;
}

/** Tells which names of span types and labels are scored. */
export interface Scope {
  readonly types: (name: string) => boolean;
  readonly labels: (name: string) => boolean;
}

export async function surveyOf(cases: AsyncIterable<EvalCase>, names: NameNormalizer): Promise<Survey> {
  let [count, textBytes] = [0, 0];
  const types = new Set<string>();
  const labels = new Set<string>();
  for await (const { text, spans = [], labels: marked = [] } of cases) {
    count += 1;
    textBytes += utf8Length(text);
    for (const { type } of spans) types.add(names(type));
    for (const label of marked) labels.add(names(label));
  }
  return { cases: count, textBytes, types, labels };
}

/**
 * Returns the scope. `wanted`: names of `-types`. If empty, the names in the data count, or all findings if nothing is
 * marked.
 */
export function scopeOf({ types, labels }: Pick<Survey, "types" | "labels">, wanted: readonly string[]): Scope {
  const matching = (names: ReadonlySet<string>) => (name: string) => names.size === 0 || names.has(name);
  if (wanted.length === 0) return { types: matching(types), labels: matching(labels) };
  const isWanted = matching(new Set(wanted));
  return { types: isWanted, labels: isWanted };
}

/** Returns warnings about names of `-types` that no case marks, since they may be misspelled. */
export function unmarkedWarnings({ types, labels }: Survey, wanted: readonly string[]): readonly string[] {
  const known = [...types, ...labels];
  return wanted
    .filter((name) => !known.includes(name))
    .map((name) => `no case has the label ${JSON.stringify(name)}${didYouMean(name, known)}`);
}
