/** List of the reconciliation verdicts, by day, provider and token class. */

import { choice, integer, number, object, text, time } from "../../base/index.ts";
import { defineList, LIST_QUERY } from "../list-definition.ts";

export const reconcileVerdicts = defineList({
  help: "Lists what the comparison of each day came to.",
  query: LIST_QUERY,
  row: object("One token class of a reconciled day.", {
    day: text("UTC day, `YYYY-MM-DD`."),
    provider: text("Name of the provider."),
    class: choice("Token class; `input` is without what was read from a cache or written to one.", [
      "input",
      "cached_input",
      "cache_creation_input",
      "output",
    ]),
    metered: integer("Tokens the gateway counted."),
    reported: integer("Tokens the provider reports."),
    delta: integer("Metered without reported.", { minimum: Number.MIN_SAFE_INTEGER }),
    ratio: number("Their difference as a fraction of the larger; 0: both are 0."),
    breach: integer("1 when the difference is over the bounds.", { minimum: 0, maximum: 1 }),
    direction: choice("`over`: more was metered than is reported.", ["over", "under", "equal"]),
    hard: integer("1 for a breach that no use of the account outside the gateway explains.", {
      minimum: 0,
      maximum: 1,
    }),
    judged_at: time("When this came out; judged again with the same result, it stays."),
  }),
  identity: ["provider", "day", "class"],
  get: {
    about: "bills",
    aliases: ["verdicts"],
    name: ["provider"],
    columns: ["day", "provider", "class", "metered", "reported", "ratio", "breach", "direction"],
  },
});
