/**
 * Answers `GET /v1/models` and `GET /v1/models/{id}`. Both dialects share the paths; a request with `anthropic-version`
 * gets the messages form. Any model name works; the list has three healthy ones and an example of each fault and of
 * each variant.
 */

import { FAULTS } from "./fault-table.ts";
import { RESPONSE_VARIANTS } from "./response-variants.ts";
import { type Answer, type Call, json } from "./route-types.ts";

const HEALTHY_MODELS: readonly string[] = ["sim-small", "sim-large", "sim-embed"];

/** Creation time of every model, 2026-01-01: a constant, so that lists are equal. */
const CREATED_SECONDS = 1_767_225_600;
const CREATED = "2026-01-01T00:00:00Z";

const MODELS: readonly string[] = [
  ...HEALTHY_MODELS,
  ...[...FAULTS, ...RESPONSE_VARIANTS].map(({ example }) => example),
];

const COMPAT_LIST = JSON.stringify({ object: "list", data: MODELS.map(compatModel) });

const MESSAGES_LIST = JSON.stringify({
  data: MODELS.map(messagesModel),
  has_more: false,
  first_id: MODELS[0],
  last_id: MODELS.at(-1),
});

export function answerModels({ dialect }: Call): Answer {
  return json(dialect === "messages" ? MESSAGES_LIST : COMPAT_LIST);
}

export function answerModel({ dialect, model }: Call): Answer {
  return json(JSON.stringify(dialect === "messages" ? messagesModel(model) : compatModel(model)));
}

function compatModel(id: string) {
  return { id, object: "model", created: CREATED_SECONDS, owned_by: "simulated" };
}

function messagesModel(id: string) {
  const limits = { max_input_tokens: 200_000, max_tokens: 64_000 };
  return { type: "model", id, display_name: `Simulated ${id}`, created_at: CREATED, ...limits, capabilities: null };
}
