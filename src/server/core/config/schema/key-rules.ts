/**
 * Rules between the keys of one object (`x-exclusive`, `x-one-of`, `x-together`); each breach is a sentence.
 *
 * A key is present if it is written, whatever its value. Defaults are filled in after these rules are checked.
 */

import { enumerated } from "../problem.ts";

export type RuleName = "x-exclusive" | "x-one-of" | "x-together";

export const RULE_NAMES: readonly RuleName[] = ["x-exclusive", "x-one-of", "x-together"];

export interface Breach {
  /** Keys of the group that are present, in the group's order. */
  readonly present: readonly string[];
  /** Keys of the group that are absent. */
  readonly absent: readonly string[];
  readonly message: string;
}

type Groups = readonly (readonly string[])[];

/** Returns the groups of keys in which `object` breaks the rule. */
export function breaches(rule: RuleName, groups: Groups, object: object): readonly Breach[] {
  return groups.flatMap((group) => {
    const present = group.filter((key) => Object.hasOwn(object, key));
    const absent = group.filter((key) => !present.includes(key));
    const message = sentence(rule, group, present, absent);
    return message === undefined ? [] : [{ present, absent, message }];
  });
}

function sentence(
  rule: RuleName,
  group: readonly string[],
  present: readonly string[],
  absent: readonly string[],
): string | undefined {
  switch (rule) {
    case "x-exclusive":
      return present.length > 1 ? `${enumerated(present, "and")} exclude each other; keep one` : undefined;
    case "x-one-of":
      if (present.length === 1) return undefined;
      return present.length === 0
        ? `exactly one of ${enumerated(group, "and")} is required, found none`
        : `exactly one of ${enumerated(group, "and")} is allowed, found ${enumerated(present, "and")}`;
    case "x-together":
      if (present.length === 0 || absent.length === 0) return undefined;
      return `${enumerated(present, "and")} needs ${enumerated(absent, "and")} beside it`;
    default:
      return rule satisfies never;
  }
}
