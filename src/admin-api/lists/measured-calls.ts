import { choice, integer, nullable, number, text, time } from "../../base/index.ts";

/** Columns of MCP servers and agents. Their calls have neither retry nor failover. */
export const MEASURED_CALLS = {
  state: choice("`failing`: at least half of three or more calls failed; `idle`: none counts or is under way.", [
    "ok",
    "failing",
    "idle",
    "suspended",
  ]),
  suspended_until: nullable(time("When its suspension ends; null: it has none, or one without an end.")),
  rate: number("Calls a second. One counts once it is answered or has failed (no connection, 429 or 5xx)."),
  error_ratio: nullable(number("Failed calls as a fraction of those that count; null: none does.")),
  ttfb_p50_ms: nullable(
    number("Median of the time to the first byte of answered calls, in milliseconds; null: there were none."),
  ),
  ttfb_p95_ms: nullable(number("95th percentile of it.")),
  in_flight: integer("Calls under way."),
  units_per_minute: number("Cost units that budgets were charged for calls; 0 while no budget counts."),
  node: text("Node that has met it so."),
} as const;
