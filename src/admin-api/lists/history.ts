/** List of the measurements of each node, in buckets of ten seconds. */

import { choice, integer, list, nullable, number, object, optional, text, time } from "../../base/index.ts";
import { defineList, filter, filteredQuery } from "../list-definition.ts";

const HISTORY_KINDS = ["requests", "backends", "models", "budgets", "guardrails", "cluster"] as const;

export const history = defineList({
  help: "Lists what this node measured in the last 15 minutes, in buckets of 10 seconds, by series, oldest first.",
  query: filteredQuery({ kind: optional(choice("Only rows of this kind.", HISTORY_KINDS)), name: filter("name") }),
  row: object(
    "Ten seconds of the last 15 minutes, as one node measured them. Buckets in which nothing happened have no row.",
    {
      time: time("Start of the ten seconds."),
      kind: choice("Kind of the measured object.", HISTORY_KINDS),
      name: text(
        "Measured object: HTTP status, provider, model, budget, guardrail rule or detector, `streams` for `held_bytes`, or cluster node.",
      ),
      attempts: nullable(
        integer("Attempts at a provider or model that were answered or failed, or requests that ended with a status."),
      ),
      failures: nullable(integer("Attempts that failed.")),
      ttfb_p50_ms: nullable(number("Median time to first byte of answered attempts, in milliseconds.")),
      ttfb_p95_ms: nullable(number("95th percentile of the time to first byte, in milliseconds.")),
      in_flight: nullable(integer("Maximum number of attempts in flight at once.")),
      input_tokens: nullable(integer("Input tokens that providers reported.")),
      output_tokens: nullable(integer("Output tokens that providers reported.")),
      used: nullable(integer("Cost units that this node charged to the budget.")),
      refused: nullable(integer("Requests and sessions that the budget refused on this node.")),
      decisions: nullable(integer("Requests and answers on which the guardrail rule acted.")),
      findings: nullable(integer("Number of findings of the detector.")),
      // Optional, since earlier nodes do not send it.
      types: optional(
        nullable(
          list(
            "Findings of the detector by type, most frequent first. `other` counts types beyond 64 and findings without a type name.",
            object("Findings of one type.", {
              type: text("Entity type or verdict, such as `EMAIL_ADDRESS`."),
              findings: integer("Number of findings."),
            }),
          ),
        ),
      ),
      held_bytes: nullable(
        integer("Maximum bytes of a streamed answer that were held back at once, as the mean over answers."),
      ),
      applied_index: nullable(
        integer("Index of the last raft entry that this node had applied at the end of the ten seconds."),
      ),
      commit_ms: nullable(
        number(
          "Mean time from a write on this node until the node applied it, in milliseconds. Null if there were no writes.",
        ),
      ),
      node: text("Node that measured the row."),
    },
  ),
  identity: ["kind", "name", "time", "node"],
  get: { about: "traffic", aliases: [], name: ["name"], columns: ["kind", "name", "time", "node"] },
});
