/** List of the model names that requests may ask for. */

import { choice, list, nullable, object, text } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

export const models = defineList({
  help: "Lists the model names that requests can ask for, in the order in which they match.",
  query: LIST_QUERY,
  row: object(
    "A model name that requests can ask for, and the provider that serves it. Rows are in the order in which they match.",
    {
      model: text("Name, or pattern that ends in `*`. `*` alone matches every name that no other row matches."),
      kind: choice("Kind of the name. `default` stands for every name that no other row matches.", [
        "name",
        "pattern",
        "alias",
        "default",
      ]),
      provider: text("Provider that serves the model."),
      upstream_model: nullable(text("Model name that is sent to the provider. Null if it is the same name.")),
      dialects: list("Dialects in which the provider serves the model.", text("Dialect.")),
      failover: list("Providers that take over if this one fails, in order.", text("Name of a provider.")),
    },
  ),
  identity: ["kind", "model", "provider"],
  get: {
    about: "traffic",
    aliases: ["routes"],
    name: ["model"],
    columns: ["model", "kind", "provider", "upstream_model", "failover"],
  },
});
