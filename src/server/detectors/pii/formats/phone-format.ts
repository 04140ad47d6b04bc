/** Format of telephone numbers: the numbering plan is part of the pattern, and the digits of the country are kept. */

import { callingCodeLength } from "../../../core/guardrails/index.ts";
import { nationalTest } from "../phones/numbers.ts";
import { nationalSearch, searchInternational } from "../phones/phone-search.ts";
import { DIGITS, type PatternFormat } from "./types.ts";

export function phoneFormat(regions: readonly string[]): PatternFormat {
  const searchNational = nationalSearch(nationalTest(regions));
  const each: PatternFormat["each"] = (text, take) => {
    searchInternational(text, take);
    searchNational(text, take);
  };
  const isWhole = (value: string): boolean => {
    let found = false;
    each(value, (start, end) => {
      found ||= start === 0 && end === value.length;
    });
    return found;
  };
  return {
    classesOf(value) {
      if (!isWhole(value)) return undefined;
      let stays = staying(value);
      return [...value].map((character) => {
        if (!DIGITS.includes(character)) return undefined;
        stays -= 1;
        return stays >= 0 ? undefined : DIGITS;
      });
    },
    each,
    accepts: isWhole,
    proof: "form",
    sample: () => undefined,
  };
}

/** Returns the number of first digits that select the plan: the country code with its dialing prefix, or the trunk prefix. */
function staying(value: string): number {
  const digits = value.replace(/[^0-9]/g, "");
  const dialed = /^\s*\(?\+/.test(value) ? "" : (/^(?:00|011)(?=[1-9])/.exec(digits)?.[0] ?? undefined);
  if (dialed === undefined) return digits.startsWith("0") ? 1 : 0;
  const code = dialed.length + callingCodeLength(digits.slice(dialed.length));
  return /\(0\)/.test(value) ? code + 1 : code;
}
