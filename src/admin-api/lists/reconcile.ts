/** List of the providers whose usage reports are compared with what was metered. */

import { choice, integer, nullable, object, text, time } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

export const reconcile = defineList({
  help: "Lists the providers whose usage reports are compared with metered usage.",
  query: LIST_QUERY,
  row: object("A provider whose usage reports are compared with metered usage. The row is the same on every node.", {
    provider: text("Name of the provider."),
    type: choice("Dialect of its usage API.", ["compat", "messages"]),
    scope: choice("What the report covers: the whole account (`organisation`), or some of its API keys (`keys`).", [
      "organisation",
      "keys",
    ]),
    fetched_at: nullable(time("Time at which the report was last fetched. Null if it has not been fetched yet.")),
    judged_to: nullable(text("Last compared UTC day, `YYYY-MM-DD`. Null if there is none.")),
    days: integer("Number of compared days that are kept."),
    breaches: integer("Number of comparisons in these days that exceed the limits."),
    unmeasured_streams: integer(
      "Answers in these days that broke off before they reported their usage. The provider bills them, but the gateway could not count them.",
    ),
    error: nullable(text("Why the report could not be fetched or read the last time.")),
  }),
  identity: ["provider"],
  get: {
    about: "bills",
    aliases: [],
    name: ["provider"],
    columns: ["provider", "type", "fetched_at", "judged_to", "days", "breaches", "error"],
  },
});
