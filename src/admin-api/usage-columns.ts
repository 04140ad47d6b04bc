/** Columns of the usage ledger. */

import { choice, integer, nullable, object, text } from "../base/index.ts";

export const USED_HOPS = ["llm", "mcp", "a2a"] as const;

export const usage = object(
  "What was used in an hour, by who used it and what was asked for; the same on every node.",
  {
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
  },
);
