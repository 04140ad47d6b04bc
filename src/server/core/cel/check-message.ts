/** Writes the type checker's messages about calls that match no function: what was found, what is defined, and what to write. */

import { closestName } from "../../../base/index.ts";
import { OVERLOADS, type Overload } from "./declarations.ts";
import { typeText } from "./types.ts";

const MACROS: readonly string[] = ["has", "all", "exists", "exists_one", "map", "filter", "sortBy"];

/** Returns the operator that a parser's function name stands for (`+` for `_+_`), or `undefined`. */
const operatorOf = (name: string): string | undefined =>
  name === "@in" ? "in" : name === "_[_]" ? "[]" : /^_?([!<>=+\-*/%]+)_$/.exec(name)?.[1];

export const callText = (name: string): string => `\`${operatorOf(name) ?? name}\``;

/** Returns a hint for a function that does not exist. */
export function hintFor(name: string, isMethod: boolean): string {
  if (name === "has") return "`has` takes the selection of a field, such as `has(key.metadata.team)`";
  if (MACROS.includes(name)) {
    return isMethod
      ? `\`${name}\` is written \`list.${name}(x, …)\`, where \`x\` is the name of its variable`
      : `\`${name}\` is called on a list: \`list.${name}(x, …)\``;
  }
  const guess = closestName(name, [
    ...[...OVERLOADS.keys()].filter((known) => operatorOf(known) === undefined),
    ...MACROS,
  ]);
  return `there is no function \`${name}\`${guess === undefined ? "" : `, did you mean \`${guess}\`?`}`;
}

/** Maximum number of overloads in a message. */
const LISTED = 4;

export function parametersText(
  name: string,
  found: readonly string[],
  overloads: readonly Overload[],
  isMethod: boolean,
): string {
  const operator = operatorOf(name);
  if (operator !== undefined) return `${operatorText(operator, found)}${conversionHint(found)}`;
  if (overloads.every((overload) => overload.isMethod !== isMethod)) {
    return isMethod
      ? `\`${name}\` is not called on a value but as \`${name}(…)\``
      : `\`${name}\` is called on a value: \`x.${name}(…)\``;
  }
  const attempted = isMethod ? `${found[0]}.${name}(${found.slice(1).join(", ")})` : `${name}(${found.join(", ")})`;
  const ways = overloads.slice(0, LISTED).map((overload) => signature(name, overload));
  const more = overloads.length > LISTED ? ", …" : "";
  return `there is no \`${attempted}\`; there is ${ways.map((way) => `\`${way}\``).join(", ")}${more}`;
}

function signature(name: string, { params, isMethod }: Overload): string {
  const texts = params.map(typeText);
  return isMethod ? `${texts[0]}.${name}(${texts.slice(1).join(", ")})` : `${name}(${texts.join(", ")})`;
}

function operatorText(operator: string, [left = "", right]: readonly string[]): string {
  if (right === undefined) return `\`${operator}\` is not defined for ${left}`;
  switch (operator) {
    case "==":
    case "!=":
      return `\`${operator}\` compares values of one type, found ${left} and ${right}`;
    case "in":
      return right.startsWith("list") || right.startsWith("map")
        ? `\`in\` cannot find ${left} in ${right}`
        : `\`in\` looks into a list or the keys of a map, found ${right}`;
    case "[]":
      return `${left} cannot be indexed by ${right}`;
    default:
      return `\`${operator}\` is not defined for ${left} and ${right}`;
  }
}

const NUMBERS = ["int", "uint", "double"];

/** Returns a hint to convert one of two numbers of different types; otherwise an empty text. */
function conversionHint([left = "", right = ""]: readonly string[]): string {
  if (left === right || !NUMBERS.includes(left) || !NUMBERS.includes(right)) return "";
  const to = [left, right].includes("double") ? "double" : "int";
  return `; convert one with \`${to}(…)\``;
}
