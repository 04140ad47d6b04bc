/** List of the usage ledger, which is the same on every node. */

import { choice, integer, nullable, object, optional, text } from "../../base/index.ts";
import { defineList, filter, LIST_QUERY } from "../list-definition.ts";

/** Default number of usage rows in an answer. */
export const LISTED_USAGE = 1_000;

const USED_HOPS = ["llm", "mcp", "a2a"] as const;

export const usage = defineList({
  help: "Lists usage by time, caller, provider and model, newest first: by hour for the last week, then by day for the last 400 days.",
  query: object("Query parameters.", {
    ...LIST_QUERY.keys,
    limit: optional(
      integer(`Maximum number of rows. The default is ${LISTED_USAGE}.`, { minimum: 1, maximum: 100_000 }),
    ),
    hour: filter("hour"),
    hop: optional(choice("Only rows of this traffic type.", USED_HOPS)),
    caller: filter("caller"),
    profile: filter("profile"),
    provider: filter("provider"),
    model: filter("model"),
  }),
  row: object("Usage of one caller, provider and model in one hour or day. The row is the same on every node.", {
    hour: text(
      "Start of the hour, such as `2026-11-20T13:00:00Z`, or the day, such as `2026-11-20`, for usage older than a week. UTC; sorting as text sorts by time.",
    ),
    hop: choice("Traffic type.", USED_HOPS),
    caller: nullable(
      text(
        "Name of the key, `issuer/subject` of a token, or `gateway:detector`. `other` sums up callers beyond 2,000 rows per hour; a key named `other` is `key:other`.",
      ),
    ),
    profile: nullable(text("Profile of the caller. Null if it has none.")),
    provider: text("Provider, server or agent."),
    model: nullable(
      text(
        "Model that was sent to the provider, or the configured name if no provider answered. `other` sums up models beyond 100 rows per caller and hour. Null if there is none.",
      ),
    ),
    requests: integer("Finished requests and sessions."),
    failed: integer("Requests that were refused, ended with an error, broke off, or were abandoned by the client."),
    input_tokens: integer("Input tokens that were neither read from a cache nor written to one."),
    cached_input_tokens: integer("Input tokens that were read from a cache."),
    cache_creation_input_tokens: integer("Input tokens that were written to a cache."),
    output_tokens: integer("Output tokens, including reasoning tokens."),
    reasoning_tokens: integer("Reasoning tokens, which `output_tokens` includes."),
    units: integer("Cost units charged to budgets."),
  }),
  identity: ["hour", "hop", "caller", "profile", "provider", "model"],
  get: {
    about: "bills",
    aliases: [],
    name: ["caller"],
    columns: ["hour", "hop", "caller", "provider", "model", "requests", "failed", "units"],
  },
});
