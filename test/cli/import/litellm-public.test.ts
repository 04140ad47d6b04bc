/** Parts of public LiteLLM configurations without a counterpart, or with a different one. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { imported } from "./import-fixture.ts";

test("a deployment that serves the models of every provider is left out, with a note on what to write", () => {
  const { notes, messages } = imported(
    "litellm",
    `model_list:
  - { model_name: a, litellm_params: { model: openai/a, api_key: os.environ/K } }
  - { model_name: "*", litellm_params: { model: "*" } }
general_settings: { database_connection_pool_limit: 10, store_prompts_in_spend_logs: true }
`,
  );
  assert.deepEqual(notes, [
    "3 model_list[1].litellm_params.model",
    "4 general_settings.database_connection_pool_limit",
    "4 general_settings.store_prompts_in_spend_logs",
  ]);
  assert.match(messages, /^left out: it serves the models of every provider; add an entry for each/);
  assert.doesNotMatch(messages, /no counterpart/);
});
