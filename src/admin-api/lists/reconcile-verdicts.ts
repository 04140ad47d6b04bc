/** List of the reconciliation verdicts, by day, provider and token class. */

import { choice, integer, number, object, text, time } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

export const reconcileVerdicts = defineList({
  help: "Lists the daily comparisons of metered usage with the providers' reports.",
  query: LIST_QUERY,
  row: object("Comparison of one provider, day and token class.", {
    day: text("UTC day, `YYYY-MM-DD`."),
    provider: text("Name of the provider."),
    class: choice("Token class. `input` excludes tokens that were read from a cache or written to one.", [
      "input",
      "cached_input",
      "cache_creation_input",
      "output",
    ]),
    metered: integer("Tokens that the gateway counted."),
    reported: integer("Tokens that the provider reports."),
    delta: integer("Metered minus reported tokens.", { minimum: Number.MIN_SAFE_INTEGER }),
    ratio: number("Difference as a fraction of the larger number. 0 if both are 0."),
    breach: integer("1 if the difference exceeds the configured limits.", { minimum: 0, maximum: 1 }),
    direction: choice("`over`: more was metered than reported. `under`: less was metered than reported.", [
      "over",
      "under",
      "equal",
    ]),
    hard: integer("1 for a breach that use of the account outside the gateway cannot explain.", {
      minimum: 0,
      maximum: 1,
    }),
    judged_at: time("Time of the comparison. It stays the same if a later comparison has the same result."),
  }),
  identity: ["provider", "day", "class"],
  get: {
    about: "bills",
    aliases: ["verdicts"],
    name: ["provider"],
    columns: ["day", "provider", "class", "metered", "reported", "ratio", "breach", "direction"],
  },
});
