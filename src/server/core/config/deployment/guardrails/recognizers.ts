/** `custom_recognizers[]` of a `pii` detector. Spec: document 3, `custom_recognizers[]`. Patterns are RE2 syntax. */

import {
  choice,
  example,
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
} from "../../schema/schema.ts";
import { filledAs, label, score, strings } from "../terms.ts";
import { category } from "./kinds.ts";

const pattern = object(
  "One regular expression, and the score of its matches.",
  {
    name: label("The name of the pattern in explanations. It defaults to `pattern N`.", "with prefix"),
    regex: required(
      filledAs(
        "The expression uses RE2 syntax, which has no lookaround and no backreferences. Digits of every script are read as ASCII digits.",
        "\\bEMP-[0-9]{6}\\b",
      ),
    ),
    score: required(
      example(number("The score of a match, above 0 and at most 1.", { exclusiveMinimum: 0, maximum: 1 }), 0.6),
    ),
  },
  { examples: [{ regex: "\\bEMP-[0-9]{6}\\b", score: 0.6 }] },
);

const validator = object(
  "This section checks what a pattern matched. A value that passes gets a score of 1, and any other value is dropped.",
  {
    kind: required(
      choice("The checksum that proves a match.", ["luhn", "verhoeff", "iso7064", "iban", "weighted", "crc32_base62"]),
    ),
    mod: choice(
      "`iso7064` uses this system, and the default is MOD 11,10. A value ends in a digit or `X` with `11-2`, in a character or `*` with `37-2`, in two digits with `97-10`, and in a character with `37-36`.",
      ["11-10", "11-2", "37-2", "97-10", "37-36"],
    ),
    strip: text("These characters are removed before the check. Digits are not allowed.", {
      pattern: "^[^0-9]*$",
      examples: [" -"],
    }),
    weights: example(
      list(
        "`weighted` multiplies the digits by these weights. The value must have as many digits.",
        example(integer("The weight of one digit."), 3),
      ),
      [3, 7, 1, 3, 7, 1],
    ),
    modulus: example(integer("The weighted sum of `weighted` must be a multiple of this number.", { minimum: 2 }), 10),
    prefix: text("A value of `crc32_base62` starts with this literal text.", { examples: ["tok_"] }),
    sum_len: example(
      integer("This many base-62 characters at the end of a value of `crc32_base62` carry the CRC-32 of the rest.", {
        minimum: 1,
        maximum: 64,
      }),
      6,
    ),
  },
  { examples: [{ kind: "luhn", strip: " -" }] },
);

const sampleText = object(
  "One text, and the values that must be found in it. The document is refused if an example fails.",
  {
    text: required(text("The recognizer runs on this text.", { examples: ["Badge EMP-004711 was lost."] })),
    finds: withDefault(
      strings(
        "These values must be found, in this order. If the list is empty, nothing may be found.",
        "One value, exactly as it occurs in the text.",
        "EMP-004711",
      ),
      [],
    ),
  },
  { examples: [{ text: "Badge EMP-004711 was lost.", finds: ["EMP-004711"] }] },
);

const recognizer = object(
  "One recognizer of your own. Without patterns it is a deny list.",
  {
    name: required(label("The name identifies the recognizer. It must differ from the built-in ones.", "employee-id")),
    entity: required(filledAs("Every match is reported as this entity type.", "EMPLOYEE_ID")),
    patterns: list("Regular expressions that find the entity.", pattern),
    deny_list: strings(
      "These literal texts are found as whole words. If two begin at one place, the first in the list wins.",
      "The recognizer finds this literal text.",
      "Project Falcon",
    ),
    deny_list_score: score("The score of a literal text of the deny list. 0 means 1.", 0.9),
    context: strings(
      "These words raise the score of a match near them.",
      "A match near this word gets a higher score.",
      "badge",
    ),
    validator,
    examples: list("These examples are run when the document is loaded.", sampleText),
    case_sensitive: withDefault(flag("If true, upper and lower case differ."), false),
    category: orEmpty(category("Findings belong to this category. It is `pii` if the key is empty or absent.", "pii")),
  },
  {
    examples: [
      {
        name: "employee-id",
        entity: "EMPLOYEE_ID",
        patterns: [{ regex: "\\bEMP-[0-9]{6}\\b", score: 0.6 }],
        context: ["badge"],
      },
    ],
  },
);

export const customRecognizers = list("`pii` runs these recognizers of your own as well.", recognizer);

export type CustomRecognizer = TypeOf<typeof recognizer>;
