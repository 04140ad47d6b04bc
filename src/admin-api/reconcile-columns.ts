/** Columns of reconciliation: metered usage, the providers' reports, and the verdicts. */

import { choice, integer, nullable, number, object, text, time } from "../base/index.ts";

export const reconcile = object(
  "A provider whose usage reports are compared with what was metered; the same on every node.",
  {
    provider: text("Name of the provider."),
    type: choice("Dialect of its usage API.", ["compat", "messages"]),
    scope: choice("Of what the report is: of the whole organisation, or of some of its keys.", [
      "organisation",
      "keys",
    ]),
    fetched_at: nullable(time("When its report was last had; null: not yet.")),
    judged_to: nullable(text("The last UTC day that is judged, `YYYY-MM-DD`; null: none.")),
    days: integer("Days that are judged, as far back as they are kept."),
    breaches: integer("Verdicts among them that breach."),
    unmeasured_streams: integer(
      "Answers of these days that ended before they told their usage: billed, and not metered.",
    ),
    error: nullable(text("Why its report could not be had or read in the last round.")),
  },
);

export const reconcile_verdicts = object("One token class of a reconciled day.", {
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
  hard: integer("1 for a breach that no use of the organisation beside the gateway explains.", {
    minimum: 0,
    maximum: 1,
  }),
  judged_at: time("When this came out; judged again with the same result, it stays."),
});
