/**
 * `access_rules[]`, of the deployment and of a profile. Spec: document 3, `access_rules[]`. Rules are evaluated in order and the
 * first match in a list wins; without a match the request is allowed. A deny of the deployment's list is final. Conditions are
 * compiled with the policies, so they are only texts here.
 */

import {
  choice,
  example,
  list,
  object,
  required,
  type Schema,
  type TypeOf,
  text,
  withDefault,
} from "../schema/schema.ts";
import { controls, faultAnswer, filledAs, label } from "./terms.ts";

const accessRule = object(
  "One rule about who may call what.",
  {
    name: required(label("The name appears in refusals and in metrics.", "no-previews")),
    at: example(
      list(
        "The rule applies to these types of traffic, and its condition may use only the variables that all of them have. It defaults to all.",
        choice("One type of traffic: model calls, MCP servers or agents.", ["llm", "mcp", "a2a"]),
        {
          minItems: 1,
          uniqueItems: true,
        },
      ),
      ["llm"],
    ),
    condition: required(filledAs("The CEL expression decides whether the rule matches.", 'model.endsWith("-preview")')),
    action: required(choice("A request that matches is allowed or denied.", ["allow", "deny"])),
    message: text(
      "The client gets this text if the rule denies its request. It defaults to a text that names the rule.",
      {
        examples: ["This model is not reviewed yet."],
      },
    ),
    on_error: withDefault(
      faultAnswer(
        "If the condition cannot be evaluated, `fail_closed` refuses the request with `policy_error`, and `fail_open` skips the rule and logs the error.",
      ),
      "fail_closed",
    ),
    controls,
  },
  {
    examples: [
      {
        name: "no-previews",
        at: ["llm"],
        condition: 'model.endsWith("-preview")',
        action: "deny",
        message: "This model is not reviewed yet.",
      },
    ],
  },
);

type AccessRule = TypeOf<typeof accessRule>;

export const accessRules = (description: string): Schema<readonly AccessRule[]> => list(description, accessRule);
