/** Hints for a client whose path is not a route. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { findRoute, wrongPathMessage } from "../../../../../src/server/core/dialects/index.ts";

const CHAT = "`/v1/chat/completions`";
const MESSAGES = "`/v1/messages`";

/** Text before the hint on both dialects. */
const ROWS: readonly (readonly [path: string, hint: string, method?: string])[] = [
  ["/chat/completions", `it is ${CHAT}`],
  ["/Chat/Completions", `it is ${CHAT}`],
  ["/V1/chat/completions", `it is ${CHAT}`],
  ["/messages", `it is ${MESSAGES}`],
  ["/messages/count_tokens", "it is `/v1/messages/count_tokens`"],
  ["/responses", "it is `/v1/responses`"],
  ["/completions", "it is `/v1/completions`"],
  ["/embeddings", "it is `/v1/embeddings`"],
  ["/models", "it is `/v1/models`", "GET"],
  ["/v1/v1/chat/completions", `it is ${CHAT}`],
  ["/v1/v1/messages", `it is ${MESSAGES}`],
  ["/api/v1/chat/completions", `it is ${CHAT}`],
  ["/openai/v1/chat/completions", `it is ${CHAT}`],
  ["/openai/v1/responses", "it is `/v1/responses`"],
  ["/anthropic/v1/messages", `it is ${MESSAGES}`],
  ["/anthropic/messages", `it is ${MESSAGES}`],
  ["/proxy/openai/chat/completions", `it is ${CHAT}`],
  ["/inference/v1/chat/completions", `it is ${CHAT}`],
  ["/v4/chat/completions", `it is ${CHAT}`],
  ["/v1beta/openai/chat/completions", `Gemini's own API is not served: use ${CHAT}`],
  ["/v1beta/models/gemini-3:generateContent", `Gemini's own API is not served: use ${CHAT}`],
  ["/v1beta/models/gemini-3:streamGenerateContent", `Gemini's own API is not served: use ${CHAT}`],
  ["/v1alpha/models/gemini-3:generateContent", `Gemini's own API is not served: use ${CHAT}`],
  ["/v1beta1/projects/p/locations/l", `Gemini's own API is not served: use ${CHAT}`],
  ["/openai/deployments/gpt/chat/completions", `Azure's deployment paths are not served: use ${CHAT}`],
  ["/deployments/gpt/chat/completions", `Azure's deployment paths are not served: use ${CHAT}`],
  ["/v1/engines/gpt/completions", `engine paths are not served: use ${CHAT}`],
  ["/engines/gpt/chat/completions", `engine paths are not served: use ${CHAT}`],
  ["/model/claude/invoke", `Bedrock's own API is not served: use ${MESSAGES}`],
  ["/model/claude/converse-stream", `Bedrock's own API is not served: use ${MESSAGES}`],
  ["/api/chat", `Ollama's own API is not served: use ${CHAT}`],
  ["/api/generate", `Ollama's own API is not served: use ${CHAT}`],
  ["/api/tags", "Ollama's own API is not served: models are at `/v1/models`", "GET"],
  ["/api/embed", "Ollama's own API is not served: use `/v1/embeddings`"],
  ["/v2/chat", `Cohere's own API is not served: use ${CHAT}`],
  ["/mcp", "an MCP server is at `/mcp/NAME`, and `/registry/v0.1/servers` lists them"],
  ["/sse", "an MCP server is at `/mcp/NAME`, by POST", "GET"],
  ["/a2a", "an agent is at `/a2a/NAME`"],
  ["/.well-known/agent-card.json", "the card of an agent is at `/a2a/NAME/.well-known/agent-card.json`", "GET"],
  ["/.well-known/agent.json", "the card of an agent is at `/a2a/NAME/.well-known/agent-card.json`", "GET"],
  ["/a2a/.well-known/agent-card.json", "give the client `/a2a/NAME/`, with the last slash", "GET"],
  ["/a2a/helper/.well-known/agent.json", "the card of an agent is at `/a2a/NAME/.well-known/agent-card.json`", "GET"],
  ["/v0/servers", "the registry is at `/registry/v0.1/servers`", "GET"],
  ["/health", "`/healthz`, `/readyz` and `/metrics` are on the listener of `metrics_listen`", "GET"],
  ["/v1/organization/usage", "a provider's administration API is not served", "GET"],
  ["/v1/messages", "`/v1/messages` accepts other methods", "GET"],
  ["/", ". This gateway", "GET"],
  ["/nowhere", ". This gateway"],
  ["/v1", ". This gateway", "GET"],
  ["/v1/chat/completions/chat/completions", `ends in one of them: it is ${CHAT}`],
  ["/v1/chat/completions/models", "ends in one of them: it is `/v1/models`", "GET"],
  ["/v1/chat/completions/v1/chat/completions", `it is ${CHAT}`],
  ["/v1/responses/chat/completions", `it is ${CHAT}`],
  ["/v1/responses/responses", "it is `/v1/responses`"],
  ["/v1/embeddings/embeddings", "it is `/v1/embeddings`"],
  ["/v1/messages/messages", `it is ${MESSAGES}`],
  ["/v1/messages/v1/messages", `it is ${MESSAGES}`],
  ["/v1/messages/chat/completions", `it is ${CHAT}`],
];

for (const [path, hint, method = "POST"] of ROWS) {
  test(`${method} ${path} gets the hint: ${hint}`, () => {
    assert.equal(findRoute(method, path), undefined);
    const message = wrongPathMessage(method, path);
    assert.ok(message.includes(hint), message);
    assert.match(message, /compat .*`\/v1\/chat\/completions`.* messages .*`\/v1\/messages`/);
    assert.ok(!message.includes("gemini-3") && !message.includes("/proxy/"), "nothing of the path is repeated");
  });
}
