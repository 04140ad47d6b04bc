/**
 * `access_rules[]`, of the deployment and of a profile. Spec: document 3, `access_rules[]`.
 * Evaluated in order, the first match wins within a list, no match allows; a deny of the deployment's list is final.
 * Conditions are compiled where policies are, so they are only text here.
 */

import { choice, list, object, required, type Schema, type TypeOf, text, withDefault } from "../schema.ts";
import { controls, faultAnswer, filled, label } from "./terms.ts";

const accessRule = object("One rule over who calls what.", {
  name: required(label("Appears in the refusal and in metrics.")),
  at: list(
    "Hops the rule stands at; left out, all. It may read only what all of them declare.",
    choice("A hop: calls of models, of MCP servers, or of agents.", ["llm", "mcp", "a2a"]),
    {
      minItems: 1,
      uniqueItems: true,
    },
  ),
  condition: required(filled("CEL expression; the rule matches when it is true.")),
  action: required(choice("What a match decides.", ["allow", "deny"])),
  message: text("Fixed text of the refusal of a deny rule; left out, a text that names the rule."),
  on_error: withDefault(
    faultAnswer(
      "What a condition that cannot be evaluated does: `fail_closed` refuses with `policy_error`, `fail_open` skips the rule and logs it.",
    ),
    "fail_closed",
  ),
  controls,
});

export type AccessRule = TypeOf<typeof accessRule>;

export const accessRules = (description: string): Schema<readonly AccessRule[]> => list(description, accessRule);
