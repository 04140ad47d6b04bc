/** `custom_recognizers[]` of a `pii` detector. Spec: document 3, `custom_recognizers[]`. Patterns are RE2 syntax. */

import {
  choice,
  flag,
  integer,
  list,
  number,
  object,
  orEmpty,
  required,
  type TypeOf,
  text,
  withDefault,
} from "../../schema.ts";
import { filled, label, score, strings } from "../terms.ts";
import { category } from "./kinds.ts";

const pattern = object("A regular expression and the score of its matches.", {
  name: label("Name of the pattern; left out, `pattern N`."),
  regex: required(
    filled("RE2 syntax, so no lookaround and no backreference; digits of every script count as ASCII digits."),
  ),
  score: required(number("Score of a match, above 0 and at most 1.", { exclusiveMinimum: 0, maximum: 1 })),
});

const validator = object("Checksum over what a pattern matched: accepted values score 1.0, others are dropped.", {
  kind: required(
    choice("Which checksum proves a match.", ["luhn", "verhoeff", "iso7064", "iban", "weighted", "crc32_base62"]),
  ),
  mod: choice(
    "Which system of ISO 7064 (`iso7064`); left out, MOD 11,10. `11-2` ends in a digit or `X`, `37-2` in a character or `*`, `97-10` in two digits, `37-36` in a character.",
    ["11-10", "11-2", "37-2", "97-10", "37-36"],
  ),
  strip: text("Characters removed before the check; no digits.", { pattern: "^[^0-9]*$" }),
  weights: list(
    "Weights of the digits (`weighted`); as many as the value has digits.",
    integer("Weight of one digit, from the first on."),
  ),
  modulus: integer("What the weighted sum must be a multiple of (`weighted`).", { minimum: 2 }),
  prefix: text("Literal text before the body (`crc32_base62`)."),
  sum_len: integer("How many trailing base-62 characters carry the CRC-32 of the body (`crc32_base62`).", {
    minimum: 1,
    maximum: 64,
  }),
});

const example = object("A text and what must be found in it; a failing example refuses the document.", {
  text: required(text("The text that is looked through.")),
  finds: withDefault(
    strings(
      "Values that must be found, in order; empty, nothing may be found.",
      "A value that is found, as it stands in the text.",
    ),
    [],
  ),
});

const recognizer = object("A recognizer of one's own; without patterns it is a deny list.", {
  name: required(label("Identifies the recognizer; not the name of a built-in one.")),
  entity: required(filled("Entity type that every match carries.")),
  patterns: list("Regular expressions that find the entity.", pattern),
  deny_list: strings(
    "Literals found as whole words; of two that begin at one place the first listed wins.",
    "A literal that is found as a whole word.",
  ),
  deny_list_score: score("Score of a literal; 0 means 1.0."),
  context: strings("Words nearby that raise the score.", "A word that may stand nearby."),
  validator,
  examples: list("Examples that are run at load.", example),
  case_sensitive: withDefault(flag("Turns off the ignoring of case."), false),
  category: orEmpty(category("Namespace of the annotation; empty is `pii`.")),
});

export const customRecognizers = list("Recognizers of one's own; for the `pii` detector.", recognizer);

export type CustomRecognizer = TypeOf<typeof recognizer>;
