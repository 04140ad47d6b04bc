/** Converts `litellm_params` of one deployment to an endpoint, with its key and the model name to send to it. */

import { awsOf } from "./aws-credential.ts";
import { baseUrlOf, hostLabel } from "./base-urls.ts";
import type { Endpoint, ReaderInput } from "./deployment-draft.ts";
import type { Section } from "./foreign-source.ts";
import type { Settings } from "./litellm-settings.ts";
import { type KnownPreset, presetOf } from "./presets.ts";
import { retryOf, timeoutOf } from "./retries-and-timeouts.ts";

export interface Deployment {
  readonly endpoint: Endpoint;
  readonly model: string | undefined;
}

/** Variables that LiteLLM reads if no key is set and that our catalog names otherwise. */
const KEYS: Readonly<Record<string, string>> = {
  azure: "AZURE_API_KEY",
  together_ai: "TOGETHERAI_API_KEY",
  fireworks_ai: "FIREWORKS_AI_API_KEY",
  nvidia_nim: "NVIDIA_NIM_API_KEY",
  huggingface: "HUGGINGFACE_API_KEY",
  perplexity: "PERPLEXITYAI_API_KEY",
  databricks: "DATABRICKS_API_KEY",
  github: "GITHUB_API_KEY",
};

/** Providers that stand for any server with an API like OpenAI's; its address is in the configuration. */
const ANY_COMPAT: ReadonlySet<string> = new Set([
  "openai",
  "text-completion-openai",
  "openai_like",
  "custom_openai",
  "litellm_proxy",
  "llamafile",
]);

const WITHOUT: Readonly<Record<string, string>> = {
  vertex_ai:
    "left out: the gateway fetches no Google Cloud tokens; use preset `gemini` with a key, or `vertex-openai` with a token",
  vertex_ai_beta: "left out: the gateway fetches no Google Cloud tokens; use preset `gemini` with a key",
  sagemaker: "left out: the API of SageMaker is not compatible with OpenAI's or Anthropic's",
  sagemaker_chat: "left out: the API of SageMaker is not compatible with OpenAI's or Anthropic's",
  azure_ai: "left out: use preset `azure-openai` or `azure-foundry` with the `base_url` of the resource",
  replicate: "left out: the API of Replicate is not compatible with OpenAI's or Anthropic's",
  watsonx: "left out: the API of watsonx is not compatible with OpenAI's or Anthropic's",
};

export function litellmDeployment(params: Section, settings: Settings, reading: ReaderInput): Deployment | undefined {
  // Ignored here, because the values of the named credential are already part of the parameters.
  params.ignore("litellm_credential_name");
  const written = params.text("model");
  if (written === undefined) {
    params.addNote("model", "left out: a deployment needs `model`");
    return undefined;
  }
  const { provider, model } = splitModel(written, params.text("custom_llm_provider"), reading);
  if (model === "") {
    params.addNote("model", "left out: it names a provider but no model");
    return undefined;
  }
  if (written === "*") {
    params.addNote(
      "model",
      "left out: it serves the models of every provider; add an entry for each, such as `model: openai/*`, and import again",
    );
    return undefined;
  }
  if (provider === undefined) {
    params.addNote(
      "model",
      "left out: the provider is unknown; name it before the model, as in `openai/NAME`, or with -preset NAME=PRESET, and import again",
    );
    return undefined;
  }
  const connection = provider === "bedrock" ? bedrock(params, model) : upstream(params, provider, reading);
  if (connection === undefined) return undefined;
  const retriesAndTimeout = retriesAndTimeoutOf(params, settings);
  const endpoint: Endpoint = { ...connection.endpoint(reading), ...retriesAndTimeout };
  params.noteUnread(PARAM_ADVICE, "left out: the gateway adds no parameters to requests; let clients send it");
  return { endpoint, model: connection.model ?? model };
}

function retriesAndTimeoutOf(params: Section, settings: Settings): Pick<Endpoint, "retry" | "timeoutMs"> {
  const key = params.has("num_retries") ? "num_retries" : "max_retries";
  const deploymentRetries = params.number("num_retries") ?? params.number("max_retries");
  const timeout = timeoutOf(params, "timeout", 1000);
  const stream = timeoutOf(params, "stream_timeout", 1000);
  if (timeout !== undefined && stream !== undefined)
    params.addNote("stream_timeout", "left out: one `first_byte_timeout` covers both, and `timeout` sets it");
  return {
    retry: deploymentRetries === undefined ? settings.retry : retryOf(params, key, deploymentRetries),
    timeoutMs: timeout ?? stream ?? settings.timeoutMs,
  };
}

/** Patterns by which LiteLLM finds the provider of a model name without prefix. */
const PLAIN_NAMES: readonly (readonly [RegExp, string])[] = [
  [
    /^(gpt-|chatgpt-|o[134](-|$)|text-embedding-|text-moderation-|omni-moderation-|dall-e-|whisper-|tts-|ft:gpt-)/,
    "openai",
  ],
  [/^claude-/, "anthropic"],
  [/^command-/, "cohere"],
];

function splitModel(written: string, custom: string | undefined, { presets }: ReaderInput) {
  const slash = written.indexOf("/");
  const prefix = slash > 0 ? written.slice(0, slash) : undefined;
  const rest = written.slice(slash + 1);
  if (custom !== undefined) return { provider: custom, model: prefix === custom ? rest : written };
  if (prefix === undefined)
    return { provider: PLAIN_NAMES.find(([pattern]) => pattern.test(written))?.[1], model: written };
  const isKnown =
    prefix === "bedrock" ||
    ANY_COMPAT.has(prefix) ||
    Object.hasOwn(WITHOUT, prefix) ||
    presetOf(prefix, presets) !== undefined;
  return isKnown ? { provider: prefix, model: rest } : { provider: undefined, model: written };
}

interface Connection {
  readonly endpoint: (reading: ReaderInput) => Endpoint;
  readonly model?: string;
}

function upstream(params: Section, provider: string, reading: ReaderInput): Connection | undefined {
  const { presets, variables } = reading;
  const refusal = Object.hasOwn(WITHOUT, provider) && !presets.has(provider) ? WITHOUT[provider] : undefined;
  if (refusal !== undefined) {
    params.addNote("model", refusal);
    return undefined;
  }
  const known = presetOf(provider, presets) ?? presetOf("openai", presets);
  if (known === undefined) return undefined;
  const baseKey = params.has("api_base") ? "api_base" : "base_url";
  const isAny = ANY_COMPAT.has(provider) && !presets.has(provider);
  const defaultVariable = `${provider}_API_BASE`;
  let baseUrl = baseUrlOf(params, baseKey, isAny ? undefined : known.preset, variables, defaultVariable);
  const isCustom = isAny && baseUrl !== undefined && baseUrl !== "https://api.openai.com/v1";
  if (isAny && !isCustom && !OPENAI.has(provider)) {
    params.addNote("model", "left out: the address of the server is missing; set `api_base` and import again");
    return undefined;
  }
  if (known.needsBaseUrl && baseUrl === undefined) {
    if (known.preset !== "azure-openai") {
      params.addNote(
        "model",
        `left out: preset \`${known.preset}\` needs an address; set \`api_base\` and import again`,
      );
      return undefined;
    }
    baseUrl = variables.referenceTo("AZURE_API_BASE", "address");
    params.addNote(
      "model",
      "the address is read from AZURE_API_BASE, as LiteLLM does; its value must end in /openai/v1",
    );
  }
  if (!isAny && baseUrl === undefined && known.needsRegion) {
    params.addNote("model", `left out: preset \`${known.preset}\` needs a \`region\`; add the provider by hand`);
    return undefined;
  }
  const apiKey = keyOf(params, provider, isCustom ? undefined : known, reading);
  params.leaveOutKey("api_version", "left out: the v1 API of Azure takes no api-version");
  const at = isCustom
    ? { label: hostLabel(baseUrl, provider), dialect: "compat" as const, baseUrl }
    : { label: known.preset, preset: known.preset, ...(baseUrl !== "https://api.openai.com/v1" && { baseUrl }) };
  return { endpoint: () => ({ ...at, apiKey }) };
}

const OPENAI: ReadonlySet<string> = new Set(["openai", "text-completion-openai"]);

function keyOf(
  params: Section,
  provider: string,
  known: KnownPreset | undefined,
  { variables }: ReaderInput,
): string | undefined {
  const defaultVariable = (Object.hasOwn(KEYS, provider) ? KEYS[provider] : undefined) ?? known?.keyEnv ?? "";
  const apiKey = variables.reference(
    params,
    "api_key",
    defaultVariable === "" ? `${provider}_API_KEY` : defaultVariable,
  );
  if (apiKey !== undefined || known === undefined || known.keyOptional || defaultVariable === "") return apiKey;
  params.addNote("model", `no key is set, so it is read from ${defaultVariable}, as LiteLLM does`);
  return variables.referenceTo(defaultVariable);
}

function bedrock(params: Section, written: string): Connection | undefined {
  const model = written.replace(/^(converse|converse_like|invoke)\//, "").replace(/^[a-z]{2}(-[a-z]+)+-\d\//, "");
  const preset = /(^|\.)anthropic\./.test(model)
    ? "bedrock-anthropic"
    : /(^|\.)openai\./.test(model)
      ? "bedrock"
      : undefined;
  if (preset === undefined) {
    params.addNote(
      "model",
      "left out: this model has an AWS API of its own; if AWS also serves it through a compatible API, use preset `bedrock` or `bedrock-mantle`",
    );
    return undefined;
  }
  params.addNote(
    "model",
    `becomes preset \`${preset}\`, whose model names can differ; compare them with the list of AWS`,
  );
  return {
    model,
    endpoint: ({ variables }) => ({
      label: preset,
      preset,
      ...awsOf(
        params,
        {
          region: "aws_region_name",
          id: "aws_access_key_id",
          secret: "aws_secret_access_key",
          token: "aws_session_token",
        },
        variables,
      ),
    }),
  };
}

const PARAM_ADVICE: Readonly<Record<string, string>> = {
  rpm: "left out: limits apply to callers and not to upstreams; add a budget",
  tpm: "left out: limits apply to callers and not to upstreams; add a budget",
  weight: "left out: load is not spread by weight",
  order: "left out: the order of the entries decides which is tried first",
  max_parallel_requests: "left out: no counterpart",
  input_cost_per_token: "left out: prices can be part of the CEL cost of a budget",
  output_cost_per_token: "left out: prices can be part of the CEL cost of a budget",
  max_budget: "left out: budgets apply to callers, and count tokens or a CEL cost instead of dollars",
  budget_duration: "left out: budgets apply to callers",
  tags: "left out: tags do not choose a provider; access rules can read `provider.metadata`",
  extra_headers: "left out, and not copied: a catalog overlay can set headers (`set_request_headers`)",
  headers: "left out, and not copied: a catalog overlay can set headers (`set_request_headers`)",
  organization: "left out: a catalog overlay can set the header `openai-organization`",
  drop_params: "left out: `on_fidelity_loss` decides what happens to parameters that an upstream does not accept",
  azure_ad_token: "left out, and not copied: the gateway presents an API key to Azure",
  tenant_id: "left out: the gateway presents an API key to Azure",
  client_id: "left out: the gateway presents an API key to Azure",
  client_secret: "left out, and not copied: the gateway presents an API key to Azure",
  aws_role_name: "left out: the credentials of the platform are used; set the role there",
  aws_profile_name: "left out: the credentials of the platform are used; set AWS_PROFILE",
  guardrails: "left out: guardrails apply to all models; the `when` of a rule can name the model",
};
