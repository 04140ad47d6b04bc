/** LIKE: `%` is any text, `_` one character, case counts. Time is at most the product of the two lengths. */

import type { Value } from "../plan.ts";
import { StatementError } from "./budget.ts";
import type { Cell } from "./compare.ts";
import { textOf } from "./texts.ts";

type Part = { readonly kind: "any" } | { readonly kind: "one" } | { readonly kind: "is"; readonly character: string };

export function isLike(value: Cell, pattern: Cell, escaping?: Cell): Value {
  if (value == null || pattern == null || escaping === null) return null;
  return matches([...textOf(value)], partsOf(textOf(pattern), escaping === undefined ? undefined : textOf(escaping)));
}

function partsOf(pattern: string, escaping: string | undefined): readonly Part[] {
  if (escaping !== undefined && [...escaping].length !== 1) throw new StatementError("ESCAPE takes one character.");
  const parts: Part[] = [];
  let isEscaped = false;
  for (const character of pattern) {
    if (!isEscaped && character === escaping) {
      isEscaped = true;
      continue;
    }
    if (!isEscaped && character === "%") parts.push({ kind: "any" });
    else if (!isEscaped && character === "_") parts.push({ kind: "one" });
    else parts.push({ kind: "is", character });
    isEscaped = false;
  }
  if (isEscaped) throw new StatementError("The pattern of LIKE ends with its escape character.");
  return parts;
}

/** Only the last `%` is ever taken back: what an earlier one could take more of, this one can too. */
function matches(text: readonly string[], parts: readonly Part[]): boolean {
  let at = 0;
  let part = 0;
  let resume: { at: number; readonly part: number } | undefined;
  while (at < text.length) {
    const next = parts[part];
    if (next?.kind === "any") {
      resume = { at, part: part + 1 };
      part += 1;
    } else if (next?.kind === "one" || (next?.kind === "is" && next.character === text[at])) {
      at += 1;
      part += 1;
    } else if (resume !== undefined) {
      resume.at += 1;
      at = resume.at;
      part = resume.part;
    } else return false;
  }
  return parts.slice(part).every(({ kind }) => kind === "any");
}
