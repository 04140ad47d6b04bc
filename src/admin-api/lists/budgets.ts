/** List of the budget buckets in their current windows. */

import { choice, integer, list, nullable, object, text, time } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";

export const budgets = defineList({
  help: "Lists the budget buckets with their usage in the current window.",
  query: MEASURED_QUERY,
  row: object("A bucket of a budget in the current window. Amounts are in cost units.", {
    budget: text("Name of the budget."),
    bucket: text("`shared`, or the owner of the bucket: the id of a key, or a digest of a token's issuer and subject."),
    key: nullable(
      text(
        "Name of the key that owns the bucket. Null if the bucket is shared, belongs to a token, or its key was revoked.",
      ),
    ),
    limit: integer("Amount that may be spent in each window."),
    used: integer("Amount charged in the current window, as far as this node knows."),
    unaccounted: integer(
      "Part of `used` that was charged for a process that ended, or was silent for a minute, before it reported what it spent.",
    ),
    reserved: integer("Amount reserved on this node for requests in flight."),
    granted: integer("Amount granted to nodes and not yet reported as spent: the sum over `holders`."),
    remaining: integer("Amount that can still be spent, at least 0."),
    window: text("Length of the window, as a duration such as `1h0m0s`."),
    resets_at: time("Start of the next window."),
    status: choice(
      "State of the bucket. `low`: less than a tenth is left. `refusing`: `refused_per_minute` is above 0.",
      ["ok", "low", "exhausted", "refusing"],
    ),
    refused_per_minute: integer("Requests and sessions that the bucket refused on this node in the last 60 seconds."),
    holders: list(
      "Nodes that have a share of the bucket in the current window, by id.",
      object("Share of one node.", {
        node: text("Node id."),
        granted: integer("Amount granted to the node and not yet reported as spent."),
        spent: integer("Amount spent by the node's current process, as far as the queried node knows."),
      }),
    ),
    node: text("Node that reports the row."),
  }),
  identity: ["budget", "bucket"],
  get: {
    about: "access",
    aliases: ["buckets"],
    name: ["budget"],
    columns: ["budget", "bucket", "key", "used", "reserved", "limit", "remaining", "window", "resets_at", "status"],
  },
});
