/**
 * Presets that serve responses themselves. For others requests are translated; with a wrong claim their providers would
 * be called at a path that they do not have. Source: provider catalog reference, 1.4 and 2.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compiledCatalog } from "../../../../src/server/core/catalog/index.ts";

const HAVING = [
  "alibaba",
  "azure-foundry",
  "azure-openai",
  "bedrock",
  "bedrock-mantle",
  "cloudflare-workers-ai",
  "databricks",
  "digitalocean",
  "groq",
  "helicone",
  "lmstudio",
  "minimax",
  "moonshot",
  "ollama",
  "ollama-cloud",
  "openai",
  "openrouter",
  "ovhcloud",
  "poe",
  "sglang",
  "stepfun",
  "vllm",
  "xai",
];

test("presets with the route claim it, and all others list their claims without it", () => {
  const channels = [...compiledCatalog()].flatMap(([name, preset]) =>
    preset.channels.filter(({ dialect }) => dialect === "compat").map(({ caps }) => ({ name, caps })),
  );
  const unnamed = channels.filter(({ caps }) => caps === undefined).map(({ name }) => name);
  assert.deepEqual(unnamed, [], "what names no claims claims them all");
  const having = channels.filter(({ caps }) => caps?.has("responses")).map(({ name }) => name);
  assert.deepEqual([...new Set(having)].sort(), HAVING);
  const lacking = channels.filter(({ caps }) => caps?.has("chat_completions") && !caps.has("responses"));
  assert.ok(lacking.length > 20, "most have chat completions alone");
});
