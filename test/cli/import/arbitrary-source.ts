/** Random configurations of other gateways: mostly valid, with some invalid parts. */

import fc from "fast-check";

/** Part of every credential; it must never appear in the output. */
export const SECRET = "sk-literal-4f1d";

const JUNK = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    -1,
    0,
    1.5,
    1e300,
    "",
    " ",
    "*",
    "a*b",
    "${X}",
    "$${",
    "yes",
    "\u0000\u2028",
    "<<",
    [],
    {},
    [[]],
    "é".repeat(600),
  ),
  fc.jsonValue({ maxDepth: 2 }),
);

const seldom = (usual: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: JUNK });

const object = (keys: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<unknown> =>
  seldom(
    fc.record(Object.fromEntries(Object.entries(keys).map(([key, value]) => [key, seldom(value)])), {
      requiredKeys: [],
    }),
  );

const list = (item: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> => seldom(fc.array(item, { maxLength: 4 }));

const NAMES = ["a", "b", "gpt-4o", "claude-*", "*", "x/y", "true", "1.0", "naïve: #", "${Y}", "'\"", "-"];
const model = fc.constantFrom(...NAMES);
const secret = fc.constantFrom(SECRET, `Bearer ${SECRET}`, "os.environ/KEY_1", "env.KEY_2", "$KEY_3", "{{KEY_4}}", "");
const address = fc.constantFrom(
  "https://one.example.com/v1",
  "http://box:8000",
  `https://user:${SECRET}@two.example.com`,
  `https://three.example.com/?k=${SECRET}`,
  "http://169.254.169.254/latest",
  "os.environ/BASE_1",
  "env.BASE_2",
  "not an address",
  "https://x.openai.azure.com/openai/deployments/d",
);
const number = fc.constantFrom<unknown>(0, 1, 2, 5, 9, 30, 0.5, 600, -3, "7", 1e12);
const providers = [
  "openai",
  "azure",
  "anthropic",
  "bedrock",
  "vertex_ai",
  "vertex",
  "ollama",
  "groq",
  "gemini",
  "databricks",
  "google",
  "azure-openai",
  "custom",
  "unheard",
];

const fallbacks = list(fc.dictionary(model, fc.array(model, { maxLength: 3 }), { maxKeys: 2 }));
const entities = fc.dictionary(
  fc.constantFrom("CREDIT_CARD", "US_SSN", "bad name", "EMAIL_ADDRESS"),
  fc.constantFrom("MASK", "BLOCK", "no"),
);

const litellm = object({
  model_list: list(
    object({
      model_name: model,
      litellm_params: object({
        model: fc
          .tuple(
            fc.constantFrom("", ...providers.map((it) => `${it}/`)),
            fc.oneof(model, fc.constant("us.anthropic.claude")),
          )
          .map((parts) => parts.join("")),
        api_key: secret,
        api_base: address,
        timeout: number,
        num_retries: number,
        rpm: number,
        aws_region_name: fc.constantFrom("us-east-1", "US East", "os.environ/REGION"),
        aws_access_key_id: secret,
        aws_secret_access_key: secret,
        extra_headers: fc.constant({ authorization: SECRET }),
      }),
      model_info: fc.constant({ mode: "chat" }),
    }),
  ),
  router_settings: object({
    num_retries: number,
    timeout: number,
    fallbacks,
    model_group_alias: fc.dictionary(model, model, { maxKeys: 2 }),
    redis_password: secret,
  }),
  litellm_settings: object({
    request_timeout: number,
    default_fallbacks: list(model),
    default_key_generate_params: object({ tpm_limit: number, rpm_limit: number, models: list(model) }),
  }),
  general_settings: object({ master_key: secret, max_request_size_mb: number }),
  environment_variables: fc.constant({ TOKEN: SECRET }),
  guardrails: list(
    object({
      guardrail_name: model,
      litellm_params: object({
        guardrail: fc.constantFrom("presidio", "litellm_content_filter", "other"),
        mode: fc.constantFrom("pre_call", "post_call", "logging_only"),
        default_on: fc.boolean(),
        api_key: secret,
        pii_entities_config: entities,
        presidio_analyzer_api_base: address,
        blocked_words: list(object({ keyword: model, action: fc.constantFrom("BLOCK", "MASK") })),
      }),
    }),
  ),
  mcp_servers: fc.dictionary(
    model,
    object({
      url: address,
      transport: fc.constantFrom("http", "sse"),
      auth_type: fc.constantFrom("bearer_token", "api_key"),
      auth_value: secret,
    }),
    { maxKeys: 2 },
  ),
});

const words = fc.constantFrom<unknown>(
  { "default.contains": { operator: "none", words: ["a b", "c"] }, deny: true },
  "pg-1",
  {
    checks: [{ id: "default.contains", parameters: { operator: "none", words: ["${Z}"] } }],
    deny: true,
  },
);

const leaf = {
  name: fc.constantFrom("one", "two"),
  provider: fc.constantFrom(...providers, "@openai"),
  api_key: secret,
  virtual_key: secret,
  weight: number,
  custom_host: address,
  resource_name: fc.constantFrom("ours", "not a name"),
  deployment_id: model,
  override_params: object({ model: fc.oneof(model, fc.constant("@groq/llama")) }),
  retry: object({ attempts: number, on_status_codes: fc.constantFrom([429, 503], [404]) }),
  request_timeout: number,
  aws_region: fc.constantFrom("eu-west-1", "?"),
  aws_access_key_id: secret,
  aws_secret_access_key: secret,
};

const queries = fc.constantFrom<unknown>(
  { "params.model": { $eq: "a" } },
  { "params.model": "b" },
  { "metadata.x": 1 },
);
const condition = fc
  .tuple(queries, fc.constantFrom("one", "two"))
  .map((pair) => Object.fromEntries(["query", "then"].map((key, at) => [key, pair[at]])));
const conditions = list(seldom(condition));
const strategy = object({
  mode: fc.constantFrom("fallback", "loadbalance", "conditional", "single"),
  conditions,
  default: fc.constantFrom("one", "two"),
  on_status_codes: fc.constant([429]),
});

const portkey = object({
  ...leaf,
  strategy,
  targets: list(object({ ...leaf, strategy, targets: list(object(leaf)) })),
  input_guardrails: list(words),
  after_request_hooks: list(words),
  cache: fc.constant({ mode: "simple" }),
});

const keyConfig = object({
  endpoint: address,
  url: address,
  region: fc.constantFrom("us-east-1", "x y"),
  access_key: secret,
  secret_key: secret,
  deployments: fc.dictionary(model, model, { maxKeys: 2 }),
  model_name: model,
});

const bifrostProvider = object({
  keys: list(
    object({
      name: model,
      value: fc.oneof(
        secret,
        fc.constant({ value: SECRET, env_var: "" }),
        fc.constant({ env_var: "env.KEY_5", from_env: true }),
      ),
      models: list(fc.oneof(model, fc.constant("anthropic.claude"))),
      aliases: fc.dictionary(model, model, { maxKeys: 2 }),
      weight: number,
      azure_key_config: keyConfig,
      bedrock_key_config: keyConfig,
      ollama_key_config: keyConfig,
    }),
  ),
  network_config: object({
    base_url: address,
    max_retries: number,
    retry_backoff_initial: number,
    retry_backoff_max: number,
    default_request_timeout_in_seconds: number,
    extra_headers: fc.constant({ a: SECRET }),
  }),
  custom_provider_config: object({
    base_provider_type: fc.constantFrom("openai", "anthropic", "cohere"),
    request_path_overrides: fc.constant({ chat_completion: "/v2/chat/completions" }),
  }),
});

const bifrost = object({
  providers: seldom(fc.dictionary(fc.constantFrom(...providers), bifrostProvider, { maxKeys: 4 })),
  client: object({ enforce_auth_on_inference: fc.boolean(), max_request_body_size_mb: number }),
  encryption_key: secret,
  version: fc.constantFrom(1, 2),
  governance: object({
    rate_limits: list(
      object({
        id: fc.constantFrom("r", "s"),
        token_max_limit: number,
        token_reset_duration: fc.constantFrom("1m", "1h", "1M", "3d"),
        request_max_limit: number,
        request_reset_duration: fc.constantFrom("1m", "0s"),
      }),
    ),
    virtual_keys: list(
      object({
        id: model,
        name: model,
        value: secret,
        rate_limit_id: fc.constantFrom("r", "s"),
        provider_configs: list(object({ provider: fc.constantFrom(...providers), allowed_models: list(model) })),
      }),
    ),
    routing_rules: list(
      object({
        cel_expression: fc.constantFrom("model == 'smart'", "true"),
        targets: list(object({ provider: fc.constantFrom(...providers), model, weight: number })),
      }),
    ),
  }),
  mcp: object({
    client_configs: list(
      object({
        name: model,
        connection_type: fc.constantFrom("http", "stdio"),
        connection_string: fc.oneof(address, fc.constant({ value: "https://m.example.com/mcp" })),
      }),
    ),
  }),
});

export const SOURCES = { litellm, portkey, bifrost } as const;
