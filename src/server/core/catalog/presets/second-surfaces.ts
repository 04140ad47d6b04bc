/**
 * Second APIs of presets, kept for clients of the other dialect. Source: provider catalog reference, section 3.
 *
 * Most are documented in little detail. Such an API claims only the kernel `K`: anything beyond it goes to the preset's own API
 * by translation, which loses less than a guess would.
 */

import { type Claims, exactly, K, M, plus, without } from "../capability-sets.ts";
import type { KeyHeader } from "../types.ts";
import {
  AZURE_FOUNDRY_BASE,
  AZURE_OPENAI_BASE,
  azureOpenaiClaims,
  BEDROCK_ANTHROPIC_BASE,
  bedrockAnthropicClaims,
} from "./first-party.ts";
import type { SecondSurface } from "./preset-row.ts";
import type { SourceId } from "./preset-sources.ts";

type MessagesArguments = readonly [
  preset: string,
  base: string,
  keyHeader: KeyHeader,
  date: string,
  from: readonly SourceId[],
  claims?: Claims,
  models?: readonly string[],
];

const second = (
  ...[preset, base, keyHeader, date, from, claims = K(), models = []]: MessagesArguments
): SecondSurface => ({
  preset,
  dialect: "messages",
  base,
  keyHeader,
  date,
  from,
  claims,
  models,
});

/** Returns the claims of DeepSeek's messages API. Its documentation lists the fields that it ignores. */
const deepseekClaims = (): Claims =>
  without(
    M(),
    "vision",
    "documents",
    "file_refs",
    "tool_result_media",
    "top_k",
    "server_tools",
    "web_search",
    "tool_search",
    "citations",
    "citation_replay",
    "prompt_caching",
    "cache_ttl",
    "cache_prewarm",
    "thinking_budget",
    "context_management",
    "inference_geo",
  );

export const secondSurfaces = (): readonly SecondSurface[] => [
  {
    // The provider describes this API as meant for testing. It limits the temperature to 1 and joins system messages.
    preset: "anthropic",
    dialect: "compat",
    base: "https://api.anthropic.com/v1",
    keyHeader: "bearer",
    date: "2026-10",
    from: ["AOAI", "DD"],
    claims: exactly(
      "chat_completions",
      "tools",
      "tool_choice",
      "parallel_tool_calls",
      "vision",
      "sampling",
      "stop",
      "streaming",
      "stream_usage",
    ),
    models: [],
    servesClaude: true,
  },
  second(
    "deepseek",
    "https://api.deepseek.com/anthropic",
    "x-api-key",
    "2026-10",
    ["DS", "DD", "MD"],
    deepseekClaims(),
  ),
  second("moonshot", "https://api.moonshot.ai/anthropic", "bearer", "2026-10", ["DD", "RIG"]),
  second("zai", "https://api.z.ai/api/anthropic", "bearer", "2026-10", ["DD", "RIG"]),
  second("zhipu", "https://open.bigmodel.cn/api/anthropic", "bearer", "2026-10", ["HFP"]),
  second("minimax", "https://api.minimax.io/anthropic", "bearer", "2026-10", ["DD", "MD"]),
  second("alibaba", "https://dashscope-intl.aliyuncs.com/apps/anthropic", "both", "2026-10", ["MD", "DD"]),
  second("xiaomi", "https://api.xiaomimimo.com/anthropic", "both", "2026-06", ["MD", "RIG"]),
  second("stepfun", "https://api.stepfun.com", "bearer", "2026-06", ["MD"], plus(K(), "effort")),
  // The server refuses a request that also has `x-api-key`.
  second(
    "openrouter",
    "https://openrouter.ai/api",
    "bearer",
    "2026-10",
    ["DD"],
    plus(K(), "vision", "prompt_caching", "cache_ttl"),
  ),
  second("fireworks", "https://api.fireworks.ai/inference", "bearer", "2026-10", ["DD"]),
  second(
    "deepinfra",
    "https://api.deepinfra.com/anthropic",
    "bearer",
    "2026-06",
    ["MD"],
    without(K(), "thinking_budget"),
  ),
  second("vercel", "https://ai-gateway.vercel.sh", "bearer", "2026-01", ["VC"]),
  second("digitalocean", "https://inference.do-ai.run", "bearer", "2026-06", ["MD"]),
  // These APIs serve Claude models only. The patterns are the names under which each host lists them.
  second("gmicloud", "https://api.gmi-serving.com", "bearer", "2026-06", ["MD"], K(), ["anthropic/claude-*"]),
  second("databricks", "https://{host}/serving-endpoints/anthropic", "bearer", "2026-04", ["DBX"], K(), [
    "databricks-claude-*",
  ]),
  second("snowflake", "https://{account}.snowflakecomputing.com/api/v2/cortex", "bearer", "2026-06", ["MD"], K(), [
    "claude-*",
  ]),
  second("vllm", "http://localhost:8000", "bearer", "2026-10", ["DD"]),
  second("ollama", "http://localhost:11434", "bearer", "2026-10", ["DD"]),
  second("ollama-cloud", "https://ollama.com", "bearer", "2026-10", ["DD"]),
  second("lmstudio", "http://localhost:1234", "bearer", "2026-10", ["DD"]),
  second("llamacpp", "http://localhost:8080", "bearer", "2026-01", ["HFB"]),
  // One Azure resource serves both addresses.
  { ...second("azure-openai", AZURE_FOUNDRY_BASE, "x-api-key", "2026-07-02", ["ASDK", "MD"], M()), servesClaude: true },
  {
    preset: "azure-foundry",
    dialect: "compat",
    base: AZURE_OPENAI_BASE,
    keyHeader: "api-key",
    date: "2026-11",
    from: ["OSDK", "VAI"],
    claims: azureOpenaiClaims(),
    models: [],
  },
  {
    ...second("bedrock-mantle", BEDROCK_ANTHROPIC_BASE, "bearer", "2026-09", ["PK"], bedrockAnthropicClaims()),
    servesClaude: true,
  },
];
