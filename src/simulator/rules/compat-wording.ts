/**
 * Wording of the compat dialect's refusals. Unknown top-level members have a wording of their own and no `param`. All
 * other refusals name the place in `param` and the kind of fault in `code` (dialects.md section 10.1).
 */

import { Refused } from "../dialect-errors.ts";
import { type Expected, type Judge, typeOf, type Violation } from "./shape-rules.ts";

const EXPECTED: Readonly<Record<Expected | "null", string>> = {
  string: "a string",
  integer: "an integer",
  number: "a decimal",
  boolean: "a boolean",
  array: "an array",
  object: "an object",
  null: "null",
};

/** Maximum length of a place, since the names of members are untrusted input of any length. */
const MAX_PLACE = 256;

export const COMPAT: Judge = {
  member: (at, name) => (at === "" ? name : `${at}.${name}`),
  entry: (at, index) => `${at}[${index}]`,
  form: (at) => at,
  refuse(at, violation) {
    const { place, message, code } = wordsOf(at.slice(0, MAX_PLACE), violation);
    throw new Refused(400, message, place, code);
  },
};

interface ErrorText {
  readonly place: string | null;
  readonly message: string;
  readonly code: string | null;
}

function wordsOf(at: string, violation: Violation): ErrorText {
  switch (violation.kind) {
    case "unknown":
      return at.includes(".")
        ? { place: at, message: `Unknown parameter: '${at}'.`, code: "unknown_parameter" }
        : { place: null, message: `Unrecognized request argument supplied: ${at}`, code: null };
    case "missing":
      return { place: at, message: `Missing required parameter: '${at}'.`, code: "missing_required_parameter" };
    case "type": {
      const got = EXPECTED[typeOf(violation.value)];
      const message = `Invalid type for '${at}': expected ${EXPECTED[violation.expected]}, but got ${got} instead.`;
      return { place: at, message, code: "invalid_type" };
    }
    case "below":
    case "above": {
      const { kind, bound, value, isWhole } = violation;
      const what = isWhole ? "integer" : "decimal";
      const [side, sign, short] = kind === "below" ? ["below minimum", ">=", "min"] : ["above maximum", "<=", "max"];
      const message = `Invalid '${at}': ${what} ${side} value. Expected a value ${sign} ${bound}, but got ${value} instead.`;
      return { place: at, message, code: `${what}_${kind}_${short}_value` };
    }
    case "short":
    case "long":
      return { place: at, ...lengthError(at, violation) };
    case "pattern": {
      const message = `Invalid '${at}': string does not match pattern. Expected a string that matches the pattern '${violation.pattern}'.`;
      return { place: at, message, code: "invalid_value" };
    }
    case "choice":
      return { place: at, ...choiceError(String(violation.value), violation.choices) };
    case "tag": {
      const place = COMPAT.member(at, violation.tag);
      if (violation.value === undefined) return wordsOf(place, { kind: "missing" });
      if (typeof violation.value !== "string") {
        return wordsOf(place, { kind: "type", expected: "string", value: violation.value });
      }
      return { place, ...choiceError(violation.value, violation.choices) };
    }
  }
}

function lengthError(at: string, { kind, of, bound, length }: Extract<Violation, { kind: "short" | "long" }>) {
  const side = kind === "short" ? "minimum" : "maximum";
  const code = `${of}_${kind === "short" ? "below_min" : "above_max"}_${of === "object" ? "properties" : "length"}`;
  if (of === "array" && length === 0) {
    const message = `Invalid '${at}': empty array. Expected an array with minimum length ${bound}, but got an empty array instead.`;
    return { message, code: "empty_array" };
  }
  const fault = of === "object" ? "too many properties" : `${of} too ${kind}`;
  const measure = of === "object" ? "number of properties" : "length";
  const message =
    `Invalid '${at}': ${fault}. Expected ${EXPECTED[of]} with ${side} ${measure} ${bound}, ` +
    `but got ${EXPECTED[of]} with ${measure} ${length} instead.`;
  return { message, code };
}

function choiceError(value: string, choices: readonly string[]) {
  const last = choices.at(-1);
  const names =
    choices.length === 1
      ? `'${last}'`
      : `${choices
          .slice(0, -1)
          .map((each) => `'${each}'`)
          .join(", ")}, and '${last}'`;
  return { message: `Invalid value: '${value.slice(0, 64)}'. Supported values are: ${names}.`, code: "invalid_value" };
}
