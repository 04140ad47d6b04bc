/** Response object, for whole answers and for events of its life cycle. */

import type { Reply } from "../generate-reply.ts";
import { type JsonObject, objectOf } from "../json-fields.ts";
import { type Call, idOf } from "../route-types.ts";
import { type Item, shortageOf } from "./response-items.ts";

/** Stage of a response. `failed` keeps what was sent before. */
type Stage = "started" | "done" | { readonly failed: { readonly code: string; readonly message: string } };

/** Members of the request that are repeated, with their defaults. */
const ECHO: JsonObject = {
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  safety_identifier: null,
  service_tier: "default",
  temperature: 1,
  tool_choice: "auto",
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: "disabled",
  user: null,
};

export function responseObject(call: Call, reply: Reply, output: readonly Item[], stage: Stage): object {
  const { serial, now, model, body } = call;
  const shortage = stage === "done" ? shortageOf(reply) : undefined;
  const status =
    stage === "started"
      ? "in_progress"
      : stage !== "done"
        ? "failed"
        : shortage === undefined
          ? "completed"
          : "incomplete";
  const reasoning = objectOf(body["reasoning"]);
  const text = objectOf(body["text"]);
  const echo = Object.entries(ECHO).map(([name, absent]) => [name, body[name] ?? absent]);
  return {
    id: idOf("resp_", serial),
    object: "response",
    created_at: now,
    status,
    completed_at: status === "completed" ? now : null,
    background: false,
    error: typeof stage === "object" ? stage.failed : null,
    incomplete_details: shortage === undefined ? null : { reason: shortage },
    model,
    output,
    store: false,
    ...Object.fromEntries(echo),
    reasoning: {
      effort: reasoning?.["effort"] ?? null,
      summary: reasoning?.["summary"] ?? reasoning?.["generate_summary"] ?? null,
    },
    text: { format: text?.["format"] ?? { type: "text" }, verbosity: text?.["verbosity"] ?? "medium" },
    usage: stage === "done" ? usageOf(reply) : null,
  };
}

function usageOf({ usage }: Reply): object {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.thinking },
    total_tokens: usage.input + usage.output,
  };
}
