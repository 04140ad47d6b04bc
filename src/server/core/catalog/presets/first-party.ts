/** Presets of model makers and clouds with their own API. Source: provider catalog reference, 2.1. */

import { exactly, K, M, O, plus, S, without } from "../capability-sets.ts";
import { compat, messages, OLD_MAX_TOKENS, type PresetRow } from "./preset-row.ts";

/** Request extensions of other hosts. These servers answer them with 400. */
const EXTENSIONS = ["top_k", "thinking_budget", "thinking_replay"] as const;

export const AZURE_OPENAI_BASE = "https://{resource}.openai.azure.com/openai/v1";
export const AZURE_FOUNDRY_BASE = "https://{resource}.services.ai.azure.com/anthropic";
export const BEDROCK_ANTHROPIC_BASE = "https://bedrock-mantle.{region}.api.aws/anthropic";

export const azureOpenaiClaims = () => without(O("E", "I", "T", "X", "W"), ...EXTENSIONS);

/**
 * Returns the claims of Bedrock's messages API. It has no server tools, so no web search, and no files, so no file references.
 */
export const bedrockAnthropicClaims = () => without(plus(M(), "mid_system"), "server_tools", "web_search", "file_refs");

const geminiClaims = () => without(S("V", "A", "J", "R", "E", "I", "B"), "penalties");
const zaiClaims = () => S("V", "D", "J", "R");

export const firstParty = (): readonly PresetRow[] => [
  compat(
    "openai",
    "https://api.openai.com/v1",
    "OPENAI_API_KEY",
    ["OAS", "OSDK", "DD"],
    plus(
      without(O("E", "I", "T", "X", "B", "W"), ...EXTENSIONS),
      "files",
      "moderations",
      "audio_speech",
      "completions",
      "videos",
      "fine_tuning",
      "assistants",
      "skills",
      "compat_other",
    ),
    { docs: "https://developers.openai.com", endUserField: "safety_identifier" },
  ),
  messages(
    "anthropic",
    "https://api.anthropic.com",
    "ANTHROPIC_API_KEY",
    ["ASDK", "DD"],
    plus(M(), "mid_system", "thread", "models", "count_tokens", "message_batches", "files", "skills"),
    { docs: "https://platform.claude.com/docs", servesClaude: true },
  ),
  // `model` is the name of the deployment. This path takes no `api-version`.
  compat("azure-openai", AZURE_OPENAI_BASE, "AZURE_OPENAI_API_KEY", ["OSDK", "VAI"], azureOpenaiClaims(), {
    keyHeader: "api-key",
    endUserField: "safety_identifier",
    docs: "https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle",
  }),
  messages("azure-foundry", AZURE_FOUNDRY_BASE, "ANTHROPIC_FOUNDRY_API_KEY", ["ASDK", "MD"], M(), {
    keyHeader: "x-api-key",
    servesClaude: true,
    docs: "https://learn.microsoft.com/azure/foundry",
  }),
  compat(
    "bedrock",
    "https://bedrock-runtime.{region}.amazonaws.com/openai/v1",
    "AWS_BEARER_TOKEN_BEDROCK",
    ["AWS"],
    S("J", "R", "X"),
    {
      signing: "bedrock",
      docs: "https://docs.aws.amazon.com/bedrock/latest/userguide/inference-responses-api.html",
    },
  ),
  // Some models are served only below `/openai/v1`; here they answer "isn't supported on this route".
  compat(
    "bedrock-mantle",
    "https://bedrock-mantle.{region}.api.aws/v1",
    "AWS_BEARER_TOKEN_BEDROCK",
    ["AWS", "OSDK", "MD"],
    S("J", "R", "X"),
    {
      signing: "bedrock-mantle",
      docs: "https://docs.aws.amazon.com/bedrock/latest/userguide/inference-responses-api.html",
    },
  ),
  messages(
    "bedrock-anthropic",
    BEDROCK_ANTHROPIC_BASE,
    "AWS_BEARER_TOKEN_BEDROCK",
    ["ASDK", "AVER", "PK"],
    bedrockAnthropicClaims(),
    {
      keyHeader: "bearer",
      signing: "bedrock-mantle",
      servesClaude: true,
      docs: "https://platform.claude.com/docs/en/build-with-claude/claude-in-amazon-bedrock",
    },
  ),
  // Every request needs `anthropic-workspace-id`, from the client or from an overlay's `set_request_headers`.
  messages("claude-aws", "https://aws-external-anthropic.{region}.api.aws", "ANTHROPIC_AWS_API_KEY", ["ASDK"], M(), {
    keyHeader: "x-api-key",
    signing: "aws-external-anthropic",
    servesClaude: true,
    docs: "https://platform.claude.com/docs/en/build-with-claude/claude-platform-on-aws",
  }),
  compat(
    "gemini",
    "https://generativelanguage.googleapis.com/v1beta/openai",
    "GEMINI_API_KEY",
    ["GD", "DD"],
    geminiClaims(),
    { docs: "https://ai.google.dev/gemini-api/docs/openai", signsCalls: true },
  ),
  // The key is an access token that lives one hour, so it must come from a secret file that is read again.
  compat(
    "vertex-openai",
    "https://aiplatform.googleapis.com/v1/projects/{project}/locations/{region}/endpoints/openapi",
    "",
    ["VAI", "MD"],
    geminiClaims(),
    { docs: "https://cloud.google.com/vertex-ai", signsCalls: true },
  ),
  // The server answers 422 to a body with an unknown field.
  compat(
    "mistral",
    "https://api.mistral.ai/v1",
    "MISTRAL_API_KEY",
    ["MI", "DD"],
    without(S("V", "J", "R", "E", "T", "B"), "stream_usage"),
    {
      rename: { max_completion_tokens: "max_tokens", seed: "random_seed" },
      remove: ["stream_options", "user", "store", "logit_bias"],
      noStreamUsage: true,
      docs: "https://docs.mistral.ai",
    },
  ),
  compat("cohere", "https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY", ["MD"], S("V", "J", "R", "E"), {
    docs: "https://docs.cohere.com/docs/compatibility-api",
  }),
  compat("xai", "https://api.x.ai/v1", "XAI_API_KEY", ["DD"], S("V", "D", "J", "R", "L", "I", "X", "B"), {
    docs: "https://docs.x.ai",
  }),
  compat("deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY", ["MD", "DD"], S("J", "R", "L"), {
    docs: "https://api-docs.deepseek.com",
  }),
  compat(
    "moonshot",
    "https://api.moonshot.ai/v1",
    "MOONSHOT_API_KEY",
    ["MD", "DD", "BF-5097"],
    S("V", "J", "R", "X", "B"),
    { docs: "https://platform.kimi.ai/docs" },
  ),
  messages("kimi-coding", "https://api.kimi.com/coding", "KIMI_API_KEY", ["MD"], K(), {
    keyHeader: "bearer",
    date: "2026-07",
  }),
  // Keys of a coding plan need `https://api.z.ai/api/coding/paas/v4` as `base_url`.
  compat("zai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", ["MD", "DD"], zaiClaims(), {
    docs: "https://docs.z.ai",
  }),
  compat("zhipu", "https://open.bigmodel.cn/api/paas/v4", "ZHIPU_API_KEY", ["MD"], plus(zaiClaims(), "embeddings"), {
    docs: "https://docs.bigmodel.cn",
  }),
  compat("minimax", "https://api.minimax.io/v1", "MINIMAX_API_KEY", ["DD"], S("V", "R", "X"), {
    docs: "https://platform.minimax.io",
  }),
  // A key is bound to its region; other regions answer 401.
  compat(
    "alibaba",
    "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    "DASHSCOPE_API_KEY",
    ["MD", "DD"],
    S("V", "A", "J", "R", "E", "X"),
    { docs: "https://www.alibabacloud.com/help/en/model-studio" },
  ),
  compat("stepfun", "https://api.stepfun.com/v1", "STEPFUN_API_KEY", ["MD"], S("R", "X"), {
    docs: "https://platform.stepfun.com",
  }),
  compat("xiaomi", "https://api.xiaomimimo.com/v1", "XIAOMI_API_KEY", ["MD", "LLP"], S("V", "A", "R"), {
    ...OLD_MAX_TOKENS,
    docs: "https://platform.xiaomimimo.com",
  }),
  compat("llama", "https://api.llama.com/compat/v1", "LLAMA_API_KEY", ["MD"], S("V"), {
    docs: "https://llama.developer.meta.com",
  }),
  compat("upstage", "https://api.upstage.ai/v1/solar", "UPSTAGE_API_KEY", ["MD"], S("R", "E"), {
    docs: "https://developers.upstage.ai",
  }),
  compat(
    "perplexity",
    "https://api.perplexity.ai",
    "PERPLEXITY_API_KEY",
    ["MD", "VAI"],
    exactly("chat_completions", "models", "sampling", "streaming", "json_schema", "vision", "thinking", "effort"),
    { docs: "https://docs.perplexity.ai" },
  ),
  compat("volcengine", "https://ark.cn-beijing.volces.com/api/v3", "ARK_API_KEY", ["LLD", "VAI"], S("V", "R", "E"), {
    docs: "https://www.volcengine.com/docs/82379",
  }),
  messages("huawei-maas", "https://api.modelarts-maas.com/anthropic", "", ["HW"], K(), {
    keyHeader: "x-api-key",
    docs: "https://support.huaweicloud.com/usermanual-maas-modelarts/maas-modelarts-0085.html",
  }),
  compat("sarvam", "https://api.sarvam.ai/v1", "SARVAM_API_KEY", ["MD", "LLP"], S("R"), {
    ...OLD_MAX_TOKENS,
    docs: "https://docs.sarvam.ai",
  }),
  compat("inception", "https://api.inceptionlabs.ai/v1", "INCEPTION_API_KEY", ["MD"], S("J", "R"), {
    docs: "https://docs.inceptionlabs.ai",
  }),
];
