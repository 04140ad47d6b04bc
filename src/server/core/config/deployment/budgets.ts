/** `budgets[]`: limits of cost in fixed windows. Spec: document 3, `budgets[]`. Costs are in cost units. */

import { choice, example, flag, integer, list, object, required, text, withDefault } from "../schema/schema.ts";
import { filledAs, label } from "./terms.ts";

const cost = object(
  "This section says how the cost of a request is counted.",
  {
    type: withDefault(
      choice("The tokens that count. `CEL` computes the cost with the expression in `cel` instead.", [
        "InputToken",
        "OutputToken",
        "TotalToken",
        "CachedInputToken",
        "CacheCreationInputToken",
        "ReasoningToken",
        "CEL",
      ]),
      "TotalToken",
    ),
    cel: filledAs(
      "The CEL expression computes the cost from `model`, `backend` and the token counts. It is required with type `CEL` and refused with any other type.",
      "input_tokens + 5 * output_tokens",
    ),
  },
  { examples: [{ type: "OutputToken" }, { type: "CEL", cel: "input_tokens + 5 * output_tokens" }] },
);

export const budgets = list(
  "Each budget limits the cost of requests in a window of time. A profile names the budget of its callers.",
  object(
    "One limit of cost in a window of time.",
    {
      name: required(label("The `budget` key of a profile refers to this name.", "staff")),
      cost,
      limit: required(
        example(
          integer("Requests in one window may cost this much, in the units of `cost`.", { minimum: 0 }),
          2_000_000,
        ),
      ),
      window: withDefault(
        text(
          "The length of the window is `minute`, `hour`, `day`, `week`, or a duration. Windows are aligned to the Unix epoch, in UTC.",
          { pattern: "^(minute|hour|day|week|([0-9]+(\\.[0-9]+)?(ms|s|m|h))+)$", examples: ["day", "12h"] },
        ),
        "day",
      ),
      shared: withDefault(
        flag(
          "If true, all callers with this budget spend from one limit. If false, each caller has a limit of its own.",
        ),
        false,
      ),
    },
    { examples: [{ name: "staff", limit: 2_000_000, window: "day" }] },
  ),
);
