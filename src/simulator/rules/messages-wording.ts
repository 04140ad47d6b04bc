/**
 * Wording of the messages dialect's refusals: the place, with dots and with the form of each block, and the problem in
 * the words of the provider's validator.
 */

import { Refused } from "../dialect-errors.ts";
import type { Expected, Judge, Violation } from "./shape-rules.ts";

const EXPECTED: Readonly<Record<Expected, string>> = {
  string: "string",
  integer: "integer",
  number: "number",
  boolean: "boolean",
  array: "list",
  object: "dictionary",
};

/** Maximum length of a place, since the names of members are untrusted input of any length. */
const MAX_PLACE = 256;

export const MESSAGES: Judge = {
  member: (at, name) => (at === "" ? name : `${at}.${name}`),
  entry: (at, index) => `${at}.${index}`,
  form: (at, tag) => `${at}.${tag}`,
  refuse(at, violation) {
    throw new Refused(400, `${at.slice(0, MAX_PLACE)}: ${wordsOf(violation)}`);
  },
};

function wordsOf(violation: Violation): string {
  switch (violation.kind) {
    case "unknown":
      return "Extra inputs are not permitted";
    case "missing":
      return "Field required";
    case "type":
      return `Input should be a valid ${EXPECTED[violation.expected]}`;
    case "below":
      return `Input should be greater than or equal to ${violation.bound}`;
    case "above":
      return `Input should be less than or equal to ${violation.bound}`;
    case "short":
    case "long": {
      const { kind, of, bound, length } = violation;
      const side = kind === "short" ? "at least" : "at most";
      if (of === "string") return `String should have ${side} ${bound} character${bound === 1 ? "" : "s"}`;
      return `List should have ${side} ${bound} item${bound === 1 ? "" : "s"} after validation, not ${length}`;
    }
    case "pattern":
      return `String should match pattern '${violation.pattern}'`;
    case "choice":
      return `Input should be ${namesOf(violation.choices)}`;
    case "tag": {
      const { tag, choices, value } = violation;
      if (typeof value !== "string") return `Unable to extract tag using discriminator '${tag}'`;
      const found = value.slice(0, 64);
      return `Input tag '${found}' found using '${tag}' does not match any of the expected tags: ${choices.map((each) => `'${each}'`).join(", ")}`;
    }
  }
}

function namesOf(choices: readonly string[]): string {
  const names = choices.map((each) => `'${each}'`);
  return names.length === 1 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}
