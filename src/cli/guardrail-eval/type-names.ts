/**
 * Normalizes the names of types and labels: marks and findings are compared by new names (`-rename`), ignoring case and
 * a category before the name (`pii/EMAIL_ADDRESS`). Source: specification document 1, `-rename`.
 */

import { CATEGORIES } from "../../server/core/guardrails/index.ts";
import { clipArgument, UsageError } from "../parse-flags.ts";

const BUILT_IN = ["PER=PERSON", "PERS=PERSON", "LOC=LOCATION", "GPE=LOCATION", "ORG=ORGANIZATION", "MIS=MISC"];

export type NameNormalizer = (written: string) => string;

/**
 * Returns a function that normalizes names. `renames`: `FROM=TO`. `known`: spellings that take precedence over those of
 * the data. Throws `UsageError`.
 */
export function createNameNormalizer(renames: readonly string[], known: readonly string[]): NameNormalizer {
  const spellings = new Map<string, string>();
  const canonical = (name: string): string => {
    const key = withoutCategory(name).toUpperCase();
    const spelling = spellings.get(key) ?? withoutCategory(name);
    spellings.set(key, spelling);
    return spelling;
  };
  known.forEach(canonical);
  const renamed = new Map<string, string>();
  for (const text of [...BUILT_IN, ...renames]) {
    const [from = "", to = "", ...more] = text.split("=");
    if (from === "" || to === "" || more.length > 0)
      throw new UsageError(`flag '-rename' takes FROM=TO, not '${clipArgument(text)}'`);
    renamed.set(withoutCategory(from).toUpperCase(), canonical(to));
  }
  return (written) => renamed.get(withoutCategory(written).toUpperCase()) ?? canonical(written);
}

function withoutCategory(name: string): string {
  const slash = name.indexOf("/");
  return slash > 0 && CATEGORIES.some((category) => category === name.slice(0, slash)) ? name.slice(slash + 1) : name;
}
