import assert from "node:assert/strict";
import { test } from "node:test";
import { compiledCatalog, lackedByClaude } from "../../../../src/server/core/catalog/index.ts";

/** Models from the vendor's own list; system turns are not claimed for an unlisted model. */
const LACKED: Readonly<Record<string, string>> = {
  "claude-3-5-sonnet-20241022": "mid_system effort",
  "claude-opus-4-20250514": "mid_system effort",
  "claude-opus-4-1-20250805": "mid_system effort top_p_pair",
  "claude-sonnet-4-5-20250929": "mid_system effort top_p_pair",
  "claude-haiku-4-5": "mid_system effort top_p_pair",
  "claude-opus-4-5-20251101": "mid_system effort top_p_pair",
  "claude-opus-4-6": "mid_system prefill top_p_pair",
  "claude-sonnet-4-6": "mid_system prefill top_p_pair",
  "claude-opus-4-7": "mid_system prefill top_p_pair sampling top_k thinking_budget",
  "claude-opus-4-8": "prefill top_p_pair sampling top_k thinking_budget",
  "us.anthropic.claude-opus-4-8": "prefill top_p_pair sampling top_k thinking_budget",
  "claude-opus-5": "prefill top_p_pair sampling top_k thinking_budget",
  "claude-opus-5-5@20261001": "prefill top_p_pair sampling top_k thinking_budget",
  "claude-fable-5-1": "prefill top_p_pair sampling top_k thinking_budget",
  "claude-mythos-5": "prefill top_p_pair sampling top_k thinking_budget",
  "claude-sonnet-5": "mid_system prefill top_p_pair sampling top_k thinking_budget",
  "claude-haiku-5-5": "mid_system prefill top_p_pair sampling top_k thinking_budget",
  "claude-opus-5-20": "mid_system prefill top_p_pair sampling top_k thinking_budget",
  "my-deployment": "mid_system",
};

test("a Claude model lacks what its version refuses, whatever its host adds to the name", () => {
  const lacked = Object.keys(LACKED).map((model) => [model, lackedByClaude(model).join(" ")]);
  assert.deepEqual(Object.fromEntries(lacked), LACKED);
});

test("system turns are claimed only where the vendor documents them", () => {
  const claiming = [...compiledCatalog().values()].flatMap(({ name, channels }) =>
    channels
      .filter(({ dialect, caps }) => dialect === "messages" && caps?.has("mid_system") === true)
      .map(({ servesClaude }) => `${name}${servesClaude ? "" : " of every model"}`),
  );
  assert.deepEqual(claiming, ["anthropic", "bedrock-mantle", "bedrock-anthropic"]);
});
