/** List of the model names that requests may ask for. */

import { choice, list, nullable, object, text } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

export const models = defineList({
  help: "Lists the names that requests may ask for, in the order in which they match.",
  query: LIST_QUERY,
  row: object("A name that a request may ask for, and where it goes. Rows are in the order in which they match.", {
    model: text("Name, or pattern with a trailing `*`; `*` alone: whatever matches nothing else."),
    kind: choice("What the name is; `default`: whatever no other row matches.", [
      "name",
      "pattern",
      "alias",
      "default",
    ]),
    provider: text("Provider it goes to."),
    upstream_model: nullable(text("What the provider is asked for; null: the same name.")),
    dialects: list("Dialects that the provider serves it in.", text("Dialect.")),
    failover: list("Providers that are asked next.", text("Name of a provider.")),
  }),
  identity: ["kind", "model", "provider"],
  get: {
    about: "traffic",
    aliases: ["routes"],
    name: ["model"],
    columns: ["model", "kind", "provider", "upstream_model", "failover"],
  },
});
