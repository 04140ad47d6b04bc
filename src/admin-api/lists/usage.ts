/** List of the usage ledger, which is the same on every node. */

import { choice, integer, nullable, object, optional, text } from "../../base/index.ts";
import { defineList, filter, LIST_QUERY } from "../list-definition.ts";

/** Default number of usage rows in an answer. */
export const LISTED_USAGE = 1_000;

const USED_HOPS = ["llm", "mcp", "a2a"] as const;

export const usage = defineList({
  help: "Lists what was used, by hour, caller, provider and model, the newest first: hours of the last week, then days of the last 400.",
  query: object("How a list is read, and which rows of it.", {
    ...LIST_QUERY.keys,
    limit: optional(integer(`At most so many rows; ${LISTED_USAGE} when left out.`, { minimum: 1, maximum: 100_000 })),
    hour: filter("hour"),
    hop: optional(choice("Only those of this hop.", USED_HOPS)),
    caller: filter("caller"),
    profile: filter("profile"),
    provider: filter("provider"),
    model: filter("model"),
  }),
  row: object("What was used in an hour, by who used it and what was asked for; the same on every node.", {
    hour: text(
      "Begin of the hour, `2026-11-20T13:00:00Z`; of what is older than a week the day, `2026-11-20`. UTC, in the order of time as text.",
    ),
    hop: choice("What it was for.", USED_HOPS),
    caller: nullable(
      text(
        "Key, `issuer/subject`, `gateway:detector`; `other`: beyond 2,000 rows an hour; `key:other`: a key of that name.",
      ),
    ),
    profile: nullable(text("Profile of the caller; null: none.")),
    provider: text("Provider, server or agent."),
    model: nullable(
      text(
        "As the provider was asked; as configured where none answered; `other`: beyond 100 rows of a caller an hour. Null: none.",
      ),
    ),
    requests: integer("Requests and sessions that are over."),
    failed: integer("Of them: refused, answered with an error, broken off, or left by the client."),
    input_tokens: integer("Tokens of input that were neither read from a cache nor written to one."),
    cached_input_tokens: integer("Tokens of input that were read from a cache."),
    cache_creation_input_tokens: integer("Tokens of input that were written to a cache."),
    output_tokens: integer("Tokens of output, reasoning included."),
    reasoning_tokens: integer("Of them: tokens of reasoning."),
    units: integer("Cost units that budgets were charged."),
  }),
  identity: ["hour", "hop", "caller", "profile", "provider", "model"],
  get: {
    about: "bills",
    aliases: [],
    name: ["caller"],
    columns: ["hour", "hop", "caller", "provider", "model", "requests", "failed", "units"],
  },
});
