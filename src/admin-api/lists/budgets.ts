/** List of the budget buckets in their current windows. */

import { choice, integer, list, nullable, object, text, time } from "../../base/index.ts";
import { defineList, MEASURED_QUERY } from "../list-definition.ts";

export const budgets = defineList({
  help: "Lists the buckets of the budgets in their current windows.",
  query: MEASURED_QUERY,
  row: object("A bucket of a budget in its current window. Costs are in cost units.", {
    budget: text("Name of the budget."),
    bucket: text(
      "`shared`, or who has the bucket alone: the id of a key, or a digest of a token's issuer and subject.",
    ),
    key: nullable(text("Name of that key; null: a shared bucket, a token's, or that of a key that is there no more.")),
    limit: integer("May be spent in a window."),
    used: integer("Charged in the current window, as far as this node knows."),
    unaccounted: integer(
      "Of `used`: charged for a process that ended, or is silent for a minute, before it told whether it spent it.",
    ),
    reserved: integer("Held on this node by requests under way."),
    granted: integer("Handed to nodes and not yet reported as spent; the sum over `holders`."),
    remaining: integer("May still be spent; never negative."),
    window: text("Length of a window, Go-style duration."),
    resets_at: time("When the next window begins."),
    status: choice(
      "How the bucket stands; `low` with less than a tenth left, `refusing` while `refused_per_minute` is not 0.",
      ["ok", "low", "exhausted", "refusing"],
    ),
    refused_per_minute: integer("Requests and sessions that it refused on this node in the last 60 seconds."),
    holders: list(
      "Nodes that were granted something in the window, in the order of their ids.",
      object("What a node holds.", {
        node: text("Node id."),
        granted: integer("Handed to it and not yet reported as spent."),
        spent: integer("Spent by its process that runs, as far as the node asked knows."),
      }),
    ),
    node: text("Node that knows it so."),
  }),
  identity: ["budget", "bucket"],
  get: {
    about: "access",
    aliases: ["buckets"],
    name: ["budget"],
    columns: ["budget", "bucket", "key", "used", "reserved", "limit", "remaining", "window", "resets_at", "status"],
  },
});
