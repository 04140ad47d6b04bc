/**
 * Sources of the facts in the preset tables, with the date of the version that was read. A row's `verifiedAt` is the date of
 * its newest dated source, and empty if none has a date. Source: provider catalog reference, section 6, and dialects
 * reference, section 12.
 */

interface Source {
  readonly what: string;
  /** Date as `YYYY-MM-DD` or `YYYY-MM`; empty if the source has none. */
  readonly date: string;
}

const SOURCES = {
  AOAI: { what: "docs.anthropic.com, OpenAI SDK compatibility", date: "" },
  ASDK: { what: "npm @anthropic-ai/sdk 1.11.0 and its cloud packages", date: "2026-11-19" },
  AVER: { what: "platform.claude.com/docs/en/api/versioning", date: "" },
  AWS: { what: "docs.aws.amazon.com/bedrock/latest/userguide/inference-responses-api.html", date: "" },
  DD: { what: "www.developersdigest.tech/reference/api-compatibility", date: "2026-10" },
  DS: { what: "api-docs.deepseek.com/guides/anthropic_api", date: "" },
  GD: { what: "ai.google.dev/gemini-api/docs/openai", date: "" },
  GQ: { what: "console.groq.com/docs/openai", date: "" },
  HFB: { what: "huggingface.co blog, Anthropic Messages API in llama.cpp", date: "2026-01" },
  HFP: { what: "huggingface.co/chenbhao/codev, provider presets", date: "" },
  HW: { what: "support.huaweicloud.com/usermanual-maas-modelarts/maas-modelarts-0085.html", date: "2025-12" },
  LLD: { what: "github.com/BerriAI/litellm-docs ef86ded8, docs/providers", date: "2026-05-02" },
  LLP: { what: "github.com/BerriAI/litellm, openai_like/providers.json", date: "" },
  MD: { what: "github.com/anomalyco/models.dev f3fc6922", date: "2026-07-02" },
  MI: { what: "issue reports on the strictness of api.mistral.ai", date: "" },
  OAS: { what: "github.com/openai/openai-openapi f85dbe22", date: "2026-08-21" },
  OSDK: { what: "npm openai 7.55.0", date: "2026-11-10" },
  PK: { what: "portkey.ai/docs/integrations/llms/bedrock-mantle", date: "2026-09-15" },
  PKG: { what: "github.com/Portkey-AI/gateway 669825cb", date: "" },
  RIG: { what: "docs.rs/rig-core, ANTHROPIC_API_BASE_URL constants", date: "" },
  SW: { what: "scaleway.com/en/docs/generative-apis/api-cli/understanding-errors", date: "" },
  VAI: { what: "github.com/vercel/ai ed857f50", date: "" },
  VC: { what: "vercel.com/docs/ai-gateway/anthropic-compat", date: "" },
  "BF-5097": { what: "github.com/maximhq/bifrost issue 5097", date: "" },
  DBX: { what: "docs.databricks.com, model-serving/query-anthropic-messages", date: "" },
  /** General knowledge, not checked against a source. */
  general: { what: "general knowledge", date: "" },
} as const satisfies Readonly<Record<string, Source>>;

export type SourceId = keyof typeof SOURCES;

export function newestDate(ids: readonly SourceId[]): string {
  return ids.map((id) => SOURCES[id].date).reduce((newest, date) => (date > newest ? date : newest), "");
}
