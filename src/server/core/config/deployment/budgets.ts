/** `budgets[]`: limits of cost in fixed windows. Spec: document 3, `budgets[]`. Costs are in cost units. */

import { choice, flag, integer, list, object, required, text, withDefault } from "../schema.ts";
import { filled, label } from "./terms.ts";

const cost = object("How the cost of a request is counted.", {
  type: withDefault(
    choice("Tokens that count, or `CEL` for an expression.", [
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
  cel: filled(
    "CEL expression over `model`, `backend` and the token counts; needed by, and only read with, type `CEL`.",
  ),
});

export const budgets = list(
  "Limits of cost in windows of time.",
  object("A limit of cost in a window of time.", {
    name: required(label("What `budget` of a profile names.")),
    cost,
    limit: required(integer("Cost units that may be spent in one window.", { minimum: 0 })),
    window: withDefault(
      text(
        "Length of the window: `minute`, `hour`, `day`, `week`, or a duration such as `12h`; windows are aligned to the Unix epoch, in UTC.",
        { pattern: "^(minute|hour|day|week|([0-9]+(\\.[0-9]+)?(ms|s|m|h))+)$", examples: ["day", "12h"] },
      ),
      "day",
    ),
    shared: withDefault(
      flag("True: all keys that refer to the budget spend from one limit; false: each key has a limit of its own."),
      false,
    ),
  }),
);
