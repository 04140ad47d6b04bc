/** List of the measurements of each node, in buckets of ten seconds. */

import { choice, integer, list, nullable, number, object, optional, text, time } from "../../base/index.ts";
import { defineList, filter, filteredQuery } from "../list-definition.ts";

const HISTORY_KINDS = ["requests", "backends", "models", "budgets", "guardrails", "cluster"] as const;

export const history = defineList({
  help: "Lists what this node measured in the last 15 minutes, in buckets of 10 seconds, by series and oldest first.",
  query: filteredQuery({ kind: optional(choice("Only those of this kind.", HISTORY_KINDS)), name: filter("name") }),
  row: object(
    "What a node measured in ten seconds of the last 15 minutes; there is no row of ten in which nothing happened.",
    {
      time: time("Begin of the ten seconds."),
      kind: choice("What was measured.", HISTORY_KINDS),
      name: text(
        "Status of requests; provider; model as in `models`; budget; rule or detector, `streams` for `held_bytes`; node of the cluster.",
      ),
      attempts: nullable(
        integer(
          "Of a provider or model: attempts that were answered or failed. Of a status: requests that ended with it.",
        ),
      ),
      failures: nullable(integer("Those that failed.")),
      ttfb_p50_ms: nullable(number("Median of the time to the first byte of answered ones, in milliseconds.")),
      ttfb_p95_ms: nullable(number("95th percentile of it.")),
      in_flight: nullable(integer("Attempts under way at once, at most.")),
      input_tokens: nullable(integer("Tokens that were told of inputs.")),
      output_tokens: nullable(integer("Tokens that were told of outputs.")),
      used: nullable(integer("Of a budget: cost units charged by this node.")),
      refused: nullable(integer("Requests and sessions that it refused on this node.")),
      decisions: nullable(integer("Of a rule of guardrails: requests and answers in which it acted.")),
      findings: nullable(integer("Of a detector: what it found.")),
      // Optional, since earlier nodes do not send it.
      types: optional(
        nullable(
          list(
            "Of a detector: the same by type, most first; `other`: what has no name for a type, and beyond 64 of them.",
            object("What was found of a type.", {
              type: text("Entity type or verdict: `EMAIL_ADDRESS`."),
              findings: integer("How many."),
            }),
          ),
        ),
      ),
      held_bytes: nullable(
        integer("Most text of a streamed answer that was held back at once, mean over the answers."),
      ),
      applied_index: nullable(
        integer("Of the cluster: last log entry applied on this node at the end of the ten seconds."),
      ),
      commit_ms: nullable(
        number("Mean milliseconds from a write on this node to its effect there; null: there was none."),
      ),
      node: text("Node that measured it."),
    },
  ),
  identity: ["kind", "name", "time", "node"],
  get: { about: "traffic", aliases: [], name: ["name"], columns: ["kind", "name", "time", "node"] },
});
