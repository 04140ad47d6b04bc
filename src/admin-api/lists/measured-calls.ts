import { choice, integer, nullable, number, optional, text, time } from "../../base/index.ts";

/** Description of the column `last_failure`, which providers have as well. */
export const LAST_FAILURE =
  "Cause of the newest failure of the last minute, such as `status 503` or `its name does not resolve`. Absent if nothing failed. Contains no text of an answer, except an error code or type of one word.";

/** Columns of MCP servers and agents. Their calls have neither retry nor failover. */
export const MEASURED_CALLS = {
  state: choice(
    "`failing`: there were at least three calls, and at least half of them failed. `idle`: there were no calls.",
    ["ok", "failing", "idle", "suspended"],
  ),
  suspended_until: nullable(
    time("End of the suspension. Null if it is not suspended, or suspended until an operator lifts it."),
  ),
  rate: number("Calls per second, counted when they are answered or fail (no connection, 429 or 5xx)."),
  error_ratio: nullable(number("Failed calls as a fraction of all counted calls. Null if there were none.")),
  last_failure: optional(text(LAST_FAILURE)),
  ttfb_p50_ms: nullable(
    number("Median time to first byte of answered calls, in milliseconds. Null if there were none."),
  ),
  ttfb_p95_ms: nullable(number("95th percentile of the time to first byte, in milliseconds. Null if there were none.")),
  in_flight: integer("Calls in flight."),
  units_per_minute: number("Cost units charged to budgets for these calls. 0 if no budget counts them."),
  node: text("Node that measured the row."),
} as const;
