/** List of the providers, as each node has measured them. */

import { choice, integer, list, nullable, number, object, optional, text, time } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";
import { LAST_FAILURE } from "./measured-calls.ts";

export const backends = defineList({
  help: "Lists the providers, as this node measured them in the last minute.",
  query: MEASURED_QUERY,
  row: object("A provider. Measurements are of one node and of the last 60 seconds.", {
    name: text("Name of the provider."),
    dialect: text("Dialects of the provider, separated by commas."),
    state: choice(
      "`failing`: there were at least three attempts, and at least half of them failed. `idle`: there were no attempts.",
      ["ok", "failing", "idle", "suspended"],
    ),
    suspended_until: nullable(
      time("End of the suspension. Null if it is not suspended, or suspended until an operator lifts it."),
    ),
    rate: number(
      "Attempts per second, counted when they are answered or fail (no connection, first-byte timeout, 429 or 5xx).",
    ),
    error_ratio: nullable(number("Failed attempts as a fraction of all counted attempts. Null if there were none.")),
    last_failure: optional(text(LAST_FAILURE)),
    ttfb_p50_ms: nullable(
      number("Median time to first byte of answered attempts, in milliseconds. Null if there were none."),
    ),
    ttfb_p95_ms: nullable(
      number("95th percentile of the time to first byte, in milliseconds. Null if there were none."),
    ),
    in_flight: integer("Attempts in flight."),
    retries: integer("Attempts that were retries."),
    failovers_in: integer("Requests that failed over from another provider to this one."),
    failovers_out: integer("Requests that failed over from this provider to another one."),
    units_per_minute: number("Cost units charged to budgets for this provider. 0 if no budget counts its traffic."),
    subsets: list("Subsets of the provider's pool.", text("Name of a subset.")),
    members: integer("Number of servers in the provider's pool. 0 if the provider has no pool."),
    node: text("Node that measured the row."),
  }),
  identity: ["name", "node"],
  get: {
    about: "traffic",
    aliases: ["providers", "upstreams"],
    name: ["name"],
    columns: ["name", "dialect", "state", "rate", "error_ratio", "ttfb_p50_ms", "ttfb_p95_ms", "in_flight", "node"],
  },
});
