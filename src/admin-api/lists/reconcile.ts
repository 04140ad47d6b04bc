/** List of the providers whose usage reports are compared with what was metered. */

import { choice, integer, nullable, object, text, time } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

export const reconcile = defineList({
  help: "Lists the providers whose usage reports are compared with what was metered.",
  query: LIST_QUERY,
  row: object("A provider whose usage reports are compared with what was metered; the same on every node.", {
    provider: text("Name of the provider."),
    type: choice("Dialect of its usage API.", ["compat", "messages"]),
    scope: choice("Of what the report is: of the whole account, or of some of its keys.", ["organisation", "keys"]),
    fetched_at: nullable(time("When its report was last had; null: not yet.")),
    judged_to: nullable(text("The last UTC day that is judged, `YYYY-MM-DD`; null: none.")),
    days: integer("Days that are judged, as far back as they are kept."),
    breaches: integer("Verdicts among them that breach."),
    unmeasured_streams: integer(
      "Answers of these days that ended before they told their usage: billed, and not metered.",
    ),
    error: nullable(text("Why its report could not be had or read in the last round.")),
  }),
  identity: ["provider"],
  get: {
    about: "bills",
    aliases: [],
    name: ["provider"],
    columns: ["provider", "type", "fetched_at", "judged_to", "days", "breaches", "error"],
  },
});
