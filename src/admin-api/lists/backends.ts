/** List of the providers, as each node has measured them. */

import { choice, integer, list, nullable, number, object, text, time } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";

export const backends = defineList({
  help: "Lists the providers as this node has met them in the last minute.",
  query: MEASURED_QUERY,
  row: object("A provider as this node has met it in the last 60 seconds.", {
    name: text("Name of the provider."),
    dialect: text("Dialects it is spoken to in, with commas between."),
    state: choice("`failing`: at least half of three or more attempts failed; `idle`: none counts or is under way.", [
      "ok",
      "failing",
      "idle",
      "suspended",
    ]),
    suspended_until: nullable(time("When its suspension ends; null: it has none, or one without an end.")),
    rate: number(
      "Attempts a second. One counts once it is answered or has failed (no connection, a first-byte timeout, 429 or 5xx).",
    ),
    error_ratio: nullable(number("Failed attempts as a fraction of those that count; null: none does.")),
    ttfb_p50_ms: nullable(
      number("Median of the time to the first byte of answered attempts, in milliseconds; null: there were none."),
    ),
    ttfb_p95_ms: nullable(number("95th percentile of it.")),
    in_flight: integer("Attempts under way."),
    retries: integer("Attempts that repeated one."),
    failovers_in: integer("Requests that came here from another provider."),
    failovers_out: integer("Requests that left here for another."),
    units_per_minute: number("Cost units that budgets were charged for what was used here; 0 while no budget meters."),
    subsets: list("Subsets of its pool.", text("Name of a subset.")),
    members: integer("Members of its pool; 0: it is none."),
    node: text("Node that has met it so."),
  }),
  identity: ["name", "node"],
  get: {
    about: "traffic",
    aliases: ["providers", "upstreams"],
    name: ["name"],
    columns: ["name", "dialect", "state", "rate", "error_ratio", "ttfb_p50_ms", "ttfb_p95_ms", "in_flight", "node"],
  },
});
